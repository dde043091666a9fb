// SPDX-License-Identifier: Apache-2.0
#include "daemon/trace_exporter.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hex.h"
#include "base/text.h"
#include "doors/transport/client.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using trace::Tracer;
using Variables = std::function<std::string(const char* name)>;

constexpr const char* kEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
constexpr const char* kTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
constexpr const char* kPath = "/v1/traces";
constexpr std::size_t kMostAnswer = 64UL << 10;
// A shutdown may wait this long.
constexpr auto kExportPatience = 5s;

std::string first_of(const Variables& environment, const char* specific, const char* general) {
  const std::string value = environment(specific);
  return value.empty() ? environment(general) : value;
}

// "%20" and the like, as both lists below may have them.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    std::string digits(text.substr(i + 1, 2));
    std::ranges::transform(digits, digits.begin(), [](char digit) {
      return digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
    });
    const auto byte = digits.size() == 2 ? from_hex(digits) : std::nullopt;
    if (!byte) {
      return std::nullopt;
    }
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  const std::size_t last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, last - first + 1);
}

// name=value,name=value
Result<http::Headers> read_pairs(const char* variable, const std::string& text) {
  http::Headers pairs;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view pair = trimmed(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(
        rest.size(), rest.find(',') == std::string_view::npos ? rest.size() : rest.find(',') + 1));
    if (pair.empty()) {
      continue;
    }
    const std::size_t equals = pair.find('=');
    auto value =
        percent_decoded(equals == std::string_view::npos ? std::string_view("%")
                                                         : trimmed(pair.substr(equals + 1)));
    const bool sound =
        value && std::ranges::none_of(*value, [](unsigned char c) { return c < ' ' || c == 0x7f; });
    const std::string_view name = trimmed(pair.substr(0, equals));
    if (!sound || name.empty() || name.find_first_of(" \t\r\n:") != std::string_view::npos) {
      // The value may be a secret.
      return Error(ErrorCode::kInvalid, std::string("cannot read ") + variable,
                   "write it as name=value,name=value, with % and two digits for special bytes");
    }
    pairs.emplace_back(name, *std::move(value));
  }
  return pairs;
}

struct Url {
  http::ServerAddress server;
  std::string path;  // Empty or beginning with a slash.
};

Result<Url> read_url(const std::string& text) {
  const std::size_t scheme = text.find("://");
  const std::size_t slash =
      scheme == std::string::npos ? std::string::npos : text.find('/', scheme + 3);
  auto server = http::parse_server_address(text.substr(0, slash));
  if (!server) {
    return std::move(server).error().with_hint(
        "name a collector that takes OTLP over HTTP: http://127.0.0.1:4318");
  }
  return Url{.server = *std::move(server),
             .path = slash == std::string::npos ? std::string() : text.substr(slash)};
}

Result<double> read_ratio(const std::string& text) {
  double ratio = 1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(ratio) ||
      ratio < 0 || ratio > 1) {
    return Error(ErrorCode::kInvalid, "invalid ratio of traces '" + printable(text) + "'",
                 "write it as a number from 0 to 1, such as 0.1 for every tenth trace");
  }
  return ratio;
}

// Accepts the specification's samplers that a ratio can express. A caller's decision always counts.
Result<double> ratio_of(const Variables& environment) {
  const std::string sampler = environment("OTEL_TRACES_SAMPLER");
  if (sampler.ends_with("always_off")) {
    return 0.0;
  }
  const std::string argument = environment("OTEL_TRACES_SAMPLER_ARG");
  return sampler.ends_with("traceidratio") && !argument.empty() ? read_ratio(argument) : 1.0;
}

class Exporter {
 public:
  Exporter(TraceOptions options, Log& log)
      : options_(std::move(options)),
        log_(log),
        client_({.server = options_.server,
                 .authorities = options_.authorities,
                 .connect_patience = kExportPatience,
                 .patience = kExportPatience}) {}

  Tracer::Outcome send(const std::vector<trace::SpanRecord>& batch) {
    http::Headers headers = options_.headers;
    headers.emplace_back("Content-Type", "application/json");
    const auto answer = client_.send("POST", options_.target, headers,
                                     trace::to_otlp_json(options_.resource, GB_VERSION, batch));
    if (!answer) {
      return failed(Tracer::Outcome::kLater, answer.error().message());
    }
    const int status = (*answer)->status();
    (void)(*answer)->read_all(kMostAnswer);  // So that the connection can be used again.
    if (status >= 200 && status < 300) {
      if (std::exchange(away_, false)) {
        log_.info("the collector of traces takes them again");
      }
      return Tracer::Outcome::kSent;
    }
    // What the specification calls retryable.
    const bool later = status == 429 || (status >= 502 && status <= 504);
    return failed(later ? Tracer::Outcome::kLater : Tracer::Outcome::kRefused,
                  "it responded with " + std::to_string(status));
  }

 private:
  Tracer::Outcome failed(Tracer::Outcome outcome, const std::string& why) {
    if (!std::exchange(away_, true)) {
      log_.warning("cannot send traces to " + options_.server.authority() + options_.target + ": " +
                   why);
    }
    return outcome;
  }

  const TraceOptions options_;
  Log& log_;
  http::Client client_;
  bool away_ = false;
};

}  // namespace

std::string trace_counters_text(const trace::Tracer::Counts& counts) {
  return "# HELP glovebox_trace_spans_total Spans that were sent to the collector, or left out.\n"
         "# TYPE glovebox_trace_spans_total counter\n"
         "glovebox_trace_spans_total{outcome=\"sent\"} " +
         std::to_string(counts.sent) + "\nglovebox_trace_spans_total{outcome=\"left_out\"} " +
         std::to_string(counts.left_out) + "\n";
}

Result<TraceOptions> read_trace_options(const std::string& endpoint,
                                        const std::string& ratio,
                                        const Variables& environment) {
  TraceOptions options;
  const std::string whole = endpoint.empty() ? environment(kTracesEndpoint) : std::string();
  const std::string base = endpoint.empty() ? environment(kEndpoint) : endpoint;
  const bool disabled =
      environment("OTEL_SDK_DISABLED") == "true" || environment("OTEL_TRACES_EXPORTER") == "none";
  if ((whole.empty() && base.empty()) || (endpoint.empty() && disabled)) {
    return options;
  }
  if (first_of(environment, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL") ==
      "grpc") {
    return Error(ErrorCode::kInvalid, "traces cannot be sent with gRPC",
                 "set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json, and use the collector's port "
                 "for HTTP, which is usually 4318");
  }
  Url url = GB_TRY(read_url(whole.empty() ? base : whole));
  options.server = std::move(url.server);
  if (!whole.empty()) {
    options.target = url.path.empty() ? "/" : url.path;
  } else {
    options.target = (url.path.ends_with('/') ? url.path.substr(0, url.path.size() - 1) : url.path);
    options.target += kPath;
  }
  options.headers = GB_TRY(read_pairs(
      "OTEL_EXPORTER_OTLP_HEADERS",
      first_of(environment, "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")));
  options.authorities = first_of(environment, "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
                                 "OTEL_EXPORTER_OTLP_CERTIFICATE");
  const std::string name = environment("OTEL_SERVICE_NAME");
  options.resource = {{"service.version", GB_VERSION}};
  bool named = !name.empty();
  for (auto& [key, value] :
       GB_TRY(read_pairs("OTEL_RESOURCE_ATTRIBUTES", environment("OTEL_RESOURCE_ATTRIBUTES")))) {
    if (key != "service.name" || name.empty()) {
      named = named || key == "service.name";
      options.resource.emplace_back(std::move(key), std::move(value));
    }
  }
  if (!name.empty() || !named) {
    options.resource.emplace_back("service.name", name.empty() ? "glovebox" : name);
  }
  options.ratio = GB_TRY(ratio.empty() ? ratio_of(environment) : read_ratio(ratio));
  return options;
}

std::unique_ptr<trace::Tracer> start_tracer(TraceOptions options, Log& log) {
  if (options.target.empty()) {
    return nullptr;
  }
  const double ratio = options.ratio;
  auto exporter = std::make_shared<Exporter>(std::move(options), log);
  return std::make_unique<Tracer>(
      Tracer::Options{.ratio = ratio},
      [exporter](const std::vector<trace::SpanRecord>& batch) { return exporter->send(batch); });
}

}  // namespace glovebox
