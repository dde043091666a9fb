// SPDX-License-Identifier: Apache-2.0
#include "audit/otel_log.h"

#include "base/json/json.h"
#include "base/time_text.h"

namespace glovebox::audit {
namespace {

using Json = nlohmann::ordered_json;

// Of OpenTelemetry's data model for logs.
enum Severity { kInfo = 9, kWarn = 13, kFatal = 21 };

Json text(std::string_view value) { return {{"stringValue", value}}; }

Json attribute(std::string_view name, Json value) {
  return {{"key", name}, {"value", std::move(value)}};
}

}  // namespace

std::string to_otel_log(const Record& record, std::string_view line, const std::string& version) {
  const Entry& entry = record.entry;
  const bool notable =
      entry.decision == "refused" || entry.action == "limit.hit" || entry.result == "denied";
  const Severity severity = entry.action.starts_with("emergency_stop") ? kFatal
                            : notable                                  ? kWarn
                                                                       : kInfo;
  const std::string time = std::to_string(
      std::chrono::nanoseconds(from_rfc3339(record.time).time_since_epoch()).count());
  Json attributes =
      Json::array({attribute("event.name", text("glovebox." + entry.action)),
                   attribute("glovebox.seq", {{"intValue", std::to_string(record.number)}})});
  for (const auto& [name, value] :
       {std::pair("glovebox.tenant", &entry.tenant), std::pair("glovebox.key", &entry.key),
        std::pair("glovebox.door", &entry.door), std::pair("glovebox.sandbox", &entry.sandbox),
        std::pair("glovebox.context", &entry.context),
        std::pair("glovebox.subject", &entry.subject),
        std::pair("glovebox.decision", &entry.decision),
        std::pair("glovebox.result", &entry.result)}) {
    if (!value->empty()) {
      attributes.push_back(attribute(name, text(*value)));
    }
  }
  Json log{{"timeUnixNano", time},
           {"observedTimeUnixNano", time},
           {"severityNumber", static_cast<int>(severity)},
           {"severityText", severity == kFatal  ? "FATAL"
                            : severity == kWarn ? "WARN"
                                                : "INFO"},
           {"body", text(line)},
           {"attributes", std::move(attributes)}};
  Json scope{{"scope", {{"name", "glovebox.audit"}, {"version", version}}},
             {"logRecords", Json::array({std::move(log)})}};
  Json resource{{"resource",
                 {{"attributes", Json::array({attribute("service.name", text("glovebox")),
                                              attribute("service.version", text(version))})}}},
                {"scopeLogs", Json::array({std::move(scope)})}};
  const Json request{{"resourceLogs", Json::array({std::move(resource)})}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace glovebox::audit
