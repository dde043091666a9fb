// SPDX-License-Identifier: Apache-2.0
// E2B's spelling of network rules. What a client sent is kept in the sandbox's notes, to be shown
// again; the rules that follow from it are the sandbox's own (spec/network_rules.h).
#pragma once

#include <optional>

#include "base/result.h"
#include "doors/e2b/fields.h"
#include "spec/network_rules.h"

namespace glovebox::e2b {

struct Network {
  NetworkRules rules;
  Json told;  // As the client sent it, without the password of a proxy, which nothing needs.
};

// From the `network` member of a request (or the body of an update) and its
// `allow_internet_access`. Without `denyOut` of 0.0.0.0/0 everything is allowed by default. A
// denied block is denied even where allowOut names a part of it, unlike in E2B. kInvalid for what
// E2B forbids as well: names in denyOut, and names in allowOut unless all else is denied.
Result<Network> make_network(const Json& wanted, std::optional<bool> internet);

// kUnsupported for a proxy of the client's, which no rule expresses, if sandboxes may reach the
// network at all.
Result<void> check_supported(const Json& wanted, NetworkPolicy policy);

// The network with new rules, and the members of `told` that an update can't change.
Result<Network> update_network(const Json& told, const Json& wanted, std::optional<bool> internet);

}  // namespace glovebox::e2b
