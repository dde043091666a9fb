// SPDX-License-Identifier: Apache-2.0
// NetworkRules as JSON: {"allow": […], "default": "deny", "deny": […]}, and, if there are any,
// "secrets": [{"secret", "env", "hosts", "placeholder"}], "headers": [{"host", "name", "value"}]
// and "budget": {"connections", "sent", "received", "rate"}.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/network_rules.h"

namespace glovebox {

// The canonical form: the first three members always, each rule in its only spelling, in the order
// given.
std::string to_json(const NetworkRules& rules);

// Reads an object with any of these members. kInvalid names the field, as "network.allow[2]", and
// what is wrong with it; the hint says how to write it.
Result<NetworkRules> parse_network_rules(std::string_view json);

// Reads what a record holds, even one that a former version wrote, which checked less. Never fails:
// an allowance that is not a rule is left out, and if anything else cannot be read, nothing is
// allowed.
NetworkRules read_stored_network_rules(std::string_view json);

}  // namespace glovebox
