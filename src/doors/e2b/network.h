// SPDX-License-Identifier: Apache-2.0
// Network rules of E2B: checked, and turned into the sandbox's.
//
// The service keeps {"allow":[…],"deny":[…],"e2b":{…}}: `allow` and `deny` for the egress, and what
// the client sent, to tell it again.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "doors/e2b/fields.h"

namespace glovebox::e2b {

// From the `network` member of a request (or the body of an update) and its
// `allow_internet_access`. kInvalid says what E2B forbids as well: names in denyOut, and names in
// allowOut unless all else is denied.
Result<std::string> make_network(const Json& wanted, std::optional<bool> internet);

// What a client may be told: as it sent it, without the password of a proxy.
Json told_network(const std::string& network);

// The network with new rules, and those members that an update can't change kept.
Result<std::string> update_network(const std::string& network,
                                   const Json& wanted,
                                   std::optional<bool> internet);

}  // namespace glovebox::e2b
