// SPDX-License-Identifier: Apache-2.0
#include "daemon/trace_exporter.h"

#include <gtest/gtest.h>

#include <map>

namespace glovebox {
namespace {

using Variables = std::map<std::string, std::string>;

Result<TraceOptions> read(const std::string& endpoint,
                          const std::string& ratio,
                          const Variables& variables) {
  return read_trace_options(endpoint, ratio, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(TraceOptions, NameNoCollectorWhereNobodyDoes) {
  EXPECT_EQ(read("", "", {})->target, "");
  const Variables disabled = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"},
                              {"OTEL_SDK_DISABLED", "true"}};
  EXPECT_EQ(read("", "", disabled)->target, "");
  EXPECT_EQ(read("http://other:4318", "", disabled)->target, "/v1/traces");
}

TEST(TraceOptions, AreThoseOfTheEnvironment) {
  const auto options =
      read("", "",
           {{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318/base/"},
            {"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc, x-tenant = lab"},
            {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/etc/ca.pem"},
            {"OTEL_SERVICE_NAME", "sandboxes"},
            {"OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment=test"},
            {"OTEL_TRACES_SAMPLER", "parentbased_traceidratio"},
            {"OTEL_TRACES_SAMPLER_ARG", "0.25"}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->server.kind, http::ServerAddress::Kind::kTls);
  EXPECT_EQ(options->server.authority(), "collector:4318");
  EXPECT_EQ(options->target, "/base/v1/traces");
  EXPECT_EQ(options->headers,
            (http::Headers{{"authorization", "Bearer abc"}, {"x-tenant", "lab"}}));
  EXPECT_EQ(options->authorities, "/etc/ca.pem");
  EXPECT_EQ(options->ratio, 0.25);
  std::map<std::string, std::string> resource(options->resource.begin(), options->resource.end());
  EXPECT_EQ(resource["service.name"], "sandboxes");
  EXPECT_EQ(resource["deployment.environment"], "test");
}

TEST(TraceOptions, OfTheCommandLineComeFirst) {
  const auto options = read("http://127.0.0.1:4318", "0.5",
                            {{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector/traces"},
                             {"OTEL_TRACES_SAMPLER", "always_off"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->server.authority(), "127.0.0.1:4318");
  EXPECT_EQ(options->target, "/v1/traces");
  EXPECT_EQ(options->ratio, 0.5);
}

TEST(TraceOptions, TakeAnAddressOfTracesAsItIs) {
  const auto options =
      read("", "", {{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector/of/traces"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->target, "/of/traces");
}

TEST(TraceOptions, ThatCannotBeReadAreErrorsThatShowNoSecret) {
  const std::string url = "http://collector:4318";
  EXPECT_FALSE(read("collector", "", {}));
  EXPECT_FALSE(read("ftp://collector", "", {}));
  for (const char* const ratio : {"2", "-1", "a", "0.5x", "nan"}) {
    EXPECT_FALSE(read(url, ratio, {})) << ratio;
  }
  EXPECT_FALSE(read(url, "", {{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}));
  for (const char* const headers :
       {"SECRET", "a=SECRET%zz", "a=SECRET%0a", "a b=SECRET", "=SECRET"}) {
    const auto options = read(url, "", {{"OTEL_EXPORTER_OTLP_HEADERS", headers}});
    ASSERT_FALSE(options) << headers;
    EXPECT_EQ(options.error().message().find("SECRET"), std::string::npos);
  }
}

}  // namespace
}  // namespace glovebox
