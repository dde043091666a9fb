// SPDX-License-Identifier: Apache-2.0
#include "trace/otlp.h"

#include <gtest/gtest.h>

#include "base/json/json.h"

namespace glovebox::trace {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

TEST(Otlp, SpansAreWrittenAsTheProtocolSays) {
  const SpanRecord span{.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
                        .span_id = "00f067aa0ba902b7",
                        .parent_id = "a2fb4a1d1a96d312",
                        .name = "POST /v1/run",
                        .kind = SpanKind::kServer,
                        .start = std::chrono::system_clock::time_point(1'800'000'000s),
                        .took = 1'500'000ns,
                        .attributes = {{"http.response.status_code", std::int64_t{500}},
                                       {"http.route", std::string("/v1/run")}},
                        .failure = "no room"};
  const Json request = Json::parse(to_otlp_json({{"service.name", "glovebox"}}, "0.1.0", {span}));
  const Json& of_resource = request["resourceSpans"][0];
  EXPECT_EQ(of_resource["resource"]["attributes"][0],
            Json::parse(R"({"key": "service.name", "value": {"stringValue": "glovebox"}})"));
  EXPECT_EQ(of_resource["scopeSpans"][0]["scope"]["version"], "0.1.0");
  EXPECT_EQ(of_resource["scopeSpans"][0]["spans"][0], Json::parse(R"({
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
    "spanId": "00f067aa0ba902b7",
    "parentSpanId": "a2fb4a1d1a96d312",
    "name": "POST /v1/run",
    "kind": 2,
    "startTimeUnixNano": "1800000000000000000",
    "endTimeUnixNano": "1800000000001500000",
    "attributes": [
      {"key": "http.response.status_code", "value": {"intValue": "500"}},
      {"key": "http.route", "value": {"stringValue": "/v1/run"}}
    ],
    "status": {"code": 2, "message": "no room"}
  })"));
}

TEST(Otlp, TextsThatAreNoUtf8AreReplaced) {
  const SpanRecord span{.name = "a\xff"};
  const Json request = Json::parse(to_otlp_json({}, "0.1.0", {span}));
  const Json& json = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
  EXPECT_EQ(json["name"], "a\xef\xbf\xbd");
  EXPECT_FALSE(json.contains("parentSpanId"));
  EXPECT_FALSE(json.contains("status"));
}

}  // namespace
}  // namespace glovebox::trace
