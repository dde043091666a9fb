// SPDX-License-Identifier: Apache-2.0
#include "service/judge/report_json.h"

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/schema.h"
#include "spec/json/verdict_json.h"

namespace glovebox::judge {
namespace {

using Json = nlohmann::ordered_json;

double milliseconds(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

Json describe(const CaseReport& report) {
  return {{"name", to_utf8(report.name)},
          {"verdict", to_string(report.ruling)},
          {"points", report.points},
          {"points_of", report.points_of},
          {"message", to_utf8(report.message)},
          {"exit_code", report.exit_code},
          {"signal", report.signal ? Json(*report.signal) : Json()},
          {"usage",
           {{"wall_ms", milliseconds(report.usage.wall)},
            {"cpu_ms", milliseconds(report.usage.cpu)},
            {"memory_peak", report.usage.memory_peak.count}}}};
}

Json describe(const Report& report) {
  Json cases = Json::array();
  for (const CaseReport& each : report.cases) {
    cases.push_back(describe(each));
  }
  return {{"schema", schema_of("judge")},
          {"verdict", to_string(report.ruling)},
          {"points", report.points},
          {"points_of", report.points_of},
          {"compile_ms", milliseconds(report.compile_time)},
          {"compiler_output", to_utf8(report.compiler_output)},
          {"cases", std::move(cases)}};
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Report& report) { return to_text(describe(report)); }

std::string case_event(const CaseReport& report) {
  Json event = describe(report);
  event["type"] = "case";
  return to_text(event);
}

std::string report_event(const Report& report) { return verdict_event(to_json(report)); }

}  // namespace glovebox::judge
