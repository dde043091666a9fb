// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace glovebox::policy {

// What a policy says about something. The stricter has the larger value.
enum class Action : std::uint8_t {
  kAllow,   // Not worth mentioning.
  kNote,    // Reported, and counted as risk.
  kAsk,     // A person has to agree.
  kRefuse,  // Never.
};

// "allow", "note", "ask", "refuse".
std::string_view name_of(Action action);

}  // namespace glovebox::policy
