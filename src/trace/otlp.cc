// SPDX-License-Identifier: Apache-2.0
#include "trace/otlp.h"

#include "base/json/json.h"

namespace glovebox::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStatusError = 2;

// 64-bit integers are strings in JSON.
Json attribute(const std::string& name, const AttributeValue& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  return {{"key", name},
          {"value", number != nullptr ? Json{{"intValue", std::to_string(*number)}}
                                      : Json{{"stringValue", std::get<std::string>(value)}}}};
}

std::string nanoseconds_of(std::chrono::nanoseconds since_epoch) {
  return std::to_string(since_epoch.count());
}

Json span_json(const SpanRecord& span) {
  const std::chrono::nanoseconds start = span.start.time_since_epoch();
  Json json{{"traceId", span.trace_id}, {"spanId", span.span_id}};
  if (!span.parent_id.empty()) {
    json["parentSpanId"] = span.parent_id;
  }
  json["name"] = span.name;
  json["kind"] = static_cast<int>(span.kind);
  json["startTimeUnixNano"] = nanoseconds_of(start);
  json["endTimeUnixNano"] = nanoseconds_of(start + span.took);
  if (!span.attributes.empty()) {
    Json& attributes = json["attributes"] = Json::array();
    for (const auto& [name, value] : span.attributes) {
      attributes.push_back(attribute(name, value));
    }
  }
  if (span.failure) {
    json["status"] = {{"code", kStatusError}, {"message", *span.failure}};
  }
  return json;
}

}  // namespace

std::string to_otlp_json(const Resource& resource,
                         std::string_view version,
                         const std::vector<SpanRecord>& spans) {
  Json about = Json::array();
  for (const auto& [name, value] : resource) {
    about.push_back(attribute(name, value));
  }
  Json all = Json::array();
  for (const SpanRecord& span : spans) {
    all.push_back(span_json(span));
  }
  Json scope{{"scope", {{"name", "glovebox"}, {"version", version}}}, {"spans", std::move(all)}};
  Json of_resource{{"resource", {{"attributes", std::move(about)}}},
                   {"scopeSpans", Json::array({std::move(scope)})}};
  const Json request{{"resourceSpans", Json::array({std::move(of_resource)})}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace glovebox::trace
