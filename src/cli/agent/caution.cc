// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/caution.h"

#include "base/check.h"
#include "guard/policy/match.h"
#include "guard/policy/policy.h"

namespace glovebox::cli {
namespace {

constexpr std::string_view kPolicy = "coding-agent";

policy::RuleList rules() {
  const auto parsed = policy::parse_policy(policy::shipped_policy(kPolicy), kPolicy);
  GB_CHECK(parsed.has_value());
  return parsed->list(policy::Subject::kFilesWrite, "");
}

}  // namespace

Caution caution_about(std::string_view path) {
  static const policy::RuleList kRules = rules();
  switch (policy::match_path(kRules, path).action) {
    case policy::Action::kRefuse:
      return Caution::kNever;
    case policy::Action::kAsk:
      return Caution::kPerson;
    case policy::Action::kAllow:
    case policy::Action::kNote:
      break;
  }
  return Caution::kNone;
}

}  // namespace glovebox::cli
