// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/call_assessment.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/glob.h"
#include "base/json/json.h"
#include "guard/policy/tool_rules.h"

namespace glovebox::policy {
namespace {

using Json = nlohmann::json;

// Nothing if the text is not an object, or has a name twice in one object.
std::optional<Json> parse_arguments(std::string_view text) {
  std::vector<std::set<std::string, std::less<>>> names;
  bool twice = false;
  Json parsed = Json::parse(
      text,
      [&](int, Json::parse_event_t event, Json& value) {
        if (event == Json::parse_event_t::object_start) {
          names.emplace_back();
        } else if (event == Json::parse_event_t::object_end) {
          names.pop_back();
        } else if (event == Json::parse_event_t::key) {
          twice = !names.back().insert(value.get<std::string>()).second || twice;
        }
        return true;
      },
      false);
  return parsed.is_object() && !twice ? std::optional(std::move(parsed)) : std::nullopt;
}

enum class Holds { kNo, kMaybe, kYes };

Holds answer(bool holds) { return holds ? Holds::kYes : Holds::kNo; }

Holds compares(const ToolCondition& condition, double number) {
  switch (condition.test) {
    case ToolCondition::Test::kLess:
      return answer(number < *condition.number);
    case ToolCondition::Test::kAtMost:
      return answer(number <= *condition.number);
    case ToolCondition::Test::kMore:
      return answer(number > *condition.number);
    case ToolCondition::Test::kAtLeast:
      return answer(number >= *condition.number);
    case ToolCondition::Test::kMatches:
      break;
  }
  return answer(number == *condition.number);
}

Holds holds(const ToolCondition& condition, const Json& value) {
  if (value.is_null()) {
    return Holds::kNo;
  }
  if (value.is_object()) {
    return Holds::kMaybe;
  }
  if (value.is_array()) {
    // All of several values must satisfy it; if only some do, it depends on what the tool does.
    bool all = !value.empty();
    bool none = true;
    for (const Json& each : value) {
      const Holds of_one = holds(condition, each);
      all = all && of_one == Holds::kYes;
      none = none && of_one == Holds::kNo;
    }
    return all ? Holds::kYes : none ? Holds::kNo : Holds::kMaybe;
  }
  if (value.is_number() && condition.number) {
    return compares(condition, value.get<double>());
  }
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (condition.test != ToolCondition::Test::kMatches) {
    // A tool may well read "500" as a number.
    const auto number = number_in(text);
    return number ? compares(condition, *number) : Holds::kMaybe;
  }
  return answer(matches_glob(condition.pattern, text));
}

// What the condition says of the call as a whole.
Holds holds_of_call(const ToolCondition& condition, const Json& arguments) {
  const Json* value = &arguments;
  for (const std::string& member : condition.path) {
    if (value->is_array()) {
      return Holds::kMaybe;  // Its elements may have such members.
    }
    if (!value->is_object() || !value->contains(member)) {
      return Holds::kNo;
    }
    value = &value->at(member);
  }
  return holds(condition, *value);
}

bool is_about(const ToolRule& rule, std::string_view name, const Json& arguments) {
  return matches_glob(rule.name, name) &&
         std::ranges::all_of(rule.conditions, [&](const ToolCondition& condition) {
           const Holds found = holds_of_call(condition, arguments);
           return found == Holds::kYes || (found == Holds::kMaybe && rule.action > Action::kAllow);
         });
}

auto rank(const ToolRule& rule) {
  const auto letters =
      std::ranges::count_if(rule.name, [](char each) { return each != '*' && each != '?'; });
  return std::tuple(letters, !rule.conditions.empty(), rule.action);
}

const ToolRule* rule_about(const ToolRules& rules, std::string_view name, const Json& arguments) {
  const ToolRule* best = nullptr;
  for (const ToolRule& rule : rules.rules) {
    if (is_about(rule, name, arguments) && (best == nullptr || rank(rule) > rank(*best))) {
      best = &rule;
    }
  }
  return best;
}

Finding finding_of(const Policy& policy, std::string_view name, Action action, std::string reason) {
  return {.rule = "tool",
          .severity = action == Action::kRefuse ? Severity::kHigh : Severity::kMedium,
          .action = action,
          .subject = std::string(name),
          .reason = std::move(reason),
          .policy = policy.origin};
}

}  // namespace

Assessment assess_call(const std::vector<Policy>& policies,
                       std::string_view name,
                       std::string_view arguments) {
  Assessment result;
  const std::optional<Json> parsed = parse_arguments(arguments);
  for (const Policy& policy : policies) {
    if (!policy.tools) {
      continue;
    }
    Action decision = Action::kRefuse;
    std::string reason = "its arguments are not an object, or have a name twice";
    if (parsed) {
      const ToolRule* const rule = rule_about(*policy.tools, name, *parsed);
      decision = rule != nullptr ? rule->action : policy.tools->otherwise;
      reason = rule != nullptr ? "tool matches '" + rule->text + "'"
                               : "tool is not on the policy's list";
    }
    if (decision > Action::kAllow) {
      result.findings.push_back(finding_of(policy, name, decision, std::move(reason)));
    }
    result.decision = std::max(result.decision, decision);
  }
  std::ranges::stable_sort(result.findings, std::ranges::greater(), &Finding::action);
  return result;
}

std::string reason_of_call(const Assessment& assessment) {
  return assessment.findings.empty()
             ? std::string()
             : assessment.findings.front().reason + " of " + assessment.findings.front().policy;
}

}  // namespace glovebox::policy
