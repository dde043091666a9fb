// SPDX-License-Identifier: Apache-2.0
// Network rules: what is taken has one spelling, and a rule that is taken matches what it names.
#include "spec/network_rules.h"

#include <cstdint>
#include <string_view>

#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using glovebox::NetworkRule;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rule = NetworkRule::parse(text);
  if (!rule) {
    require(!rule.error().hint().empty());
    return 0;
  }
  const std::string canonical = rule->to_text();
  const auto again = NetworkRule::parse(canonical);
  require(again && *again == *rule && again->to_text() == canonical);
  glovebox::NetworkRules rules;
  rules.deny.push_back(*rule);
  rules.otherwise = glovebox::NetworkRules::Otherwise::kAllow;
  const auto decision = glovebox::decide(rules, (rule->below ? "a." : "") + rule->name,
                                         rule->block.address, rule->port.value_or(443));
  require(!decision.allowed && decision.rule == "deny " + canonical);
  return 0;
}
