// SPDX-License-Identifier: Apache-2.0
// Ending: why and when a sandbox, or a context in one, ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glovebox {

enum class EndReason : std::uint8_t {
  kDeleted,        // Somebody asked for it.
  kExpired,        // Its time was over.
  kOutOfMemory,    // The kernel killed it for its memory.
  kCrashed,        // The process that holds it together died.
  kEmergencyStop,  // An operator ended it, or everything.
  kKeeperEnded,    // The keeper, or the machine, ended.
  kUnknown,        // Nobody was there to see it.
};
inline constexpr std::size_t kEndReasons = 7;

struct Ending {
  EndReason reason = EndReason::kUnknown;
  std::chrono::system_clock::time_point at{};
};

// As in answers, logs, metrics and the database: "out_of_memory". They never change.
std::string_view to_string(EndReason reason);
// kUnknown if the name is not that of a reason.
EndReason to_end_reason(std::string_view name);

// The end of a sentence for people: "its time was over".
std::string_view describe(EndReason reason);

}  // namespace glovebox
