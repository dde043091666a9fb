// SPDX-License-Identifier: Apache-2.0
// What a policy says about the tools that code in a sandbox calls (spec/tool.h): by a tool's name,
// and by what it is called with. "mcp.github.create_* repo=acme/* options.count<=3"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/policy/action.h"

namespace glovebox::policy {

// What an argument must be.
struct ToolCondition {
  enum class Test : std::uint8_t { kMatches, kLess, kAtMost, kMore, kAtLeast };

  std::vector<std::string> path;  // Members of the arguments, from the outermost in.
  Test test = Test::kMatches;
  std::string pattern;           // For kMatches.
  std::optional<double> number;  // The pattern as a number; may be absent for kMatches only.
};

struct ToolRule {
  static constexpr std::size_t kMaxConditions = 8;
  static constexpr std::size_t kMaxPath = 8;

  std::string text;  // As the policy has it.
  Action action = Action::kAllow;
  std::string name;                       // A pattern.
  std::vector<ToolCondition> conditions;  // All of them have to hold.
};

// Rules in any order. Calls that no rule is about get `otherwise`.
struct ToolRules {
  std::vector<ToolRule> rules;
  Action otherwise = Action::kAllow;
};

// Any text is safe to pass. Fails with kInvalid if it is not a rule.
Result<ToolRule> parse_tool_rule(std::string_view text, Action action);

// The text as a number, if all of it is one.
std::optional<double> number_in(std::string_view text);

}  // namespace glovebox::policy
