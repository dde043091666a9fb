// SPDX-License-Identifier: Apache-2.0
// What policies say about a program, and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guard/policy/fact.h"
#include "guard/policy/policy.h"

namespace glovebox::policy {

enum class Severity : std::uint8_t { kLow, kMedium, kHigh };

// "low", "medium", "high".
std::string_view name_of(Severity severity);
// What a finding adds to the risk: 1, 5 or 20.
std::uint32_t risk_of(Severity severity);

struct Finding {
  std::string rule;  // "B307": bandit's or eslint-plugin-security's name where they have the rule.
  Severity severity = Severity::kMedium;
  Action action = Action::kAsk;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::string subject;  // What was found: "os.system", "rm -rf /". Chosen by the program's author.
  std::string reason;   // A sentence without a full stop.
  std::string policy;   // The origin of the policy that says so.
};

struct Assessment {
  Action decision = Action::kAllow;  // kAllow, kAsk or kRefuse.
  std::uint32_t risk = 0;            // The highest sum among the policies.
  std::string decided_by;         // The policy whose risk threshold decided; empty: findings did.
  std::vector<Finding> findings;  // By place, the strictest first where several share one.
  // If the decision is kAsk: every policy that asks wants a dry run first.
  bool dry_run_first = false;
};

// What was analysed.
struct Program {
  std::string language;     // The id of a language.
  std::string_view family;  // "python", "javascript", "shell"; empty: no analysis knows it.
  std::vector<Fact> facts;
};

// The first finding that led to the decision, in words: "B605 at code:3:1". `name` is what to call
// the program ("code").
std::string reason_of(const Assessment& assessment, std::string_view name);

// Each policy decides by itself; the strictest decision holds. Without policies everything passes.
Assessment assess(const std::vector<Policy>& policies, const Program& program);

}  // namespace glovebox::policy
