// SPDX-License-Identifier: Apache-2.0
// What policies say about one call of a tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guard/policy/assessment.h"
#include "guard/policy/policy.h"

namespace glovebox::policy {

// `arguments` is the JSON text that goes to whatever carries out the call; it and the name may be
// anything. Each policy with rules for tools decides by itself, and the strictest decision holds.
//
// Of the rules about a call, the one with the most specific name counts; among equally specific
// ones, one with conditions before one without, and then the strictest. A condition about an
// argument that is missing or null does not hold. A condition that cannot be judged, as when the
// argument is an object, or is not a number although one is expected, does not let a rule allow the
// call, but does let it ask or refuse. Arguments that are not one object, or that have a name
// twice, are refused: readers disagree about which of the two counts.
Assessment assess_call(const std::vector<Policy>& policies,
                       std::string_view name,
                       std::string_view arguments);

// Why it is decided so, for people: "matches 'mcp.github.delete_*' of house.toml".
std::string reason_of_call(const Assessment& assessment);

}  // namespace glovebox::policy
