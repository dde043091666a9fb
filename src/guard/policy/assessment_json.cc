// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/assessment_json.h"

#include "base/json/json.h"
#include "spec/json/schema.h"

namespace glovebox::policy {
namespace {

using Json = nlohmann::ordered_json;

Json findings_of(const Assessment& assessment) {
  Json list = Json::array();
  for (const Finding& each : assessment.findings) {
    list.push_back({{"rule", each.rule},
                    {"severity", name_of(each.severity)},
                    {"action", name_of(each.action)},
                    {"line", each.line},
                    {"column", each.column},
                    {"subject", each.subject},
                    {"reason", each.reason},
                    {"policy", each.policy}});
  }
  return list;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Assessment& assessment) {
  return text_of({{"schema", schema_of("assessment")},
                  {"decision", name_of(assessment.decision)},
                  {"risk", assessment.risk},
                  {"decided_by", assessment.decided_by},
                  {"findings", findings_of(assessment)}});
}

std::string approval_needed_event(std::string_view id,
                                  const Assessment& assessment,
                                  const std::vector<std::string>& grants,
                                  std::string_view hash) {
  return text_of({{"type", "approval_needed"},
                  {"id", id},
                  {"risk", assessment.risk},
                  {"findings", findings_of(assessment)},
                  {"grants", grants},
                  {"hash", hash}});
}

}  // namespace glovebox::policy
