// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/tool_rules.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace glovebox::policy {
namespace {

using Test = ToolCondition::Test;

constexpr const char* kForm = "write a condition as argument=pattern, or argument<=number";

// The longer ones first: "<=" begins with "<".
constexpr std::array<std::pair<std::string_view, Test>, 5> kTests{{{"<=", Test::kAtMost},
                                                                   {">=", Test::kAtLeast},
                                                                   {"<", Test::kLess},
                                                                   {">", Test::kMore},
                                                                   {"=", Test::kMatches}}};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

Result<ToolCondition> parse_condition(std::string_view word) {
  const std::size_t begin = word.find_first_of("<>=");
  if (begin == std::string_view::npos || begin == 0) {
    return Error(ErrorCode::kInvalid, "'" + printable(word) + "' is not a condition", kForm);
  }
  ToolCondition condition;
  for (const std::string_view part : split(word.substr(0, begin), '.')) {
    if (part.empty() || condition.path.size() == ToolRule::kMaxPath) {
      return Error(ErrorCode::kInvalid, "'" + printable(word) + "' names no argument",
                   "write members with dots between them, at most 8: options.count");
    }
    condition.path.emplace_back(part);
  }
  word.remove_prefix(begin);
  for (const auto& [sign, test] : kTests) {
    if (word.starts_with(sign)) {
      condition.test = test;
      condition.pattern = word.substr(sign.size());
      break;
    }
  }
  condition.number = number_in(condition.pattern);
  if (condition.test != Test::kMatches && !condition.number) {
    return Error(ErrorCode::kInvalid, "'" + printable(condition.pattern) + "' is not a number",
                 kForm);
  }
  return condition;
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [read, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc() && read == end && std::isfinite(number) ? std::optional(number)
                                                                        : std::nullopt;
}

Result<ToolRule> parse_tool_rule(std::string_view text, Action action) {
  ToolRule rule{.text = std::string(text), .action = action, .name = {}, .conditions = {}};
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) {
      continue;
    }
    if (rule.name.empty()) {
      if (word.find_first_of("<>=") != std::string_view::npos) {
        return Error(ErrorCode::kInvalid, "a rule begins with the name of a tool",
                     "write \"* " + printable(word) + "\" for every tool");
      }
      rule.name = word;
      continue;
    }
    if (rule.conditions.size() == ToolRule::kMaxConditions) {
      return Error(ErrorCode::kInvalid, "a rule may have at most 8 conditions", kForm);
    }
    rule.conditions.push_back(GB_TRY(parse_condition(word)));
  }
  if (rule.name.empty()) {
    return Error(ErrorCode::kInvalid, "this rule names no tool", "write a pattern of names");
  }
  return rule;
}

}  // namespace glovebox::policy
