// SPDX-License-Identifier: Apache-2.0
// GuestRules as JSON, between our own processes and in our records.
#pragma once

#include <string>
#include <string_view>

#include "spec/guest_rules.h"

namespace glovebox {

std::string to_json(const GuestRules& rules);

// Never fails: if the rules cannot be read, nothing can be started or written. An empty text means
// no rules.
GuestRules read_stored_guest_rules(std::string_view json);

}  // namespace glovebox
