// SPDX-License-Identifier: Apache-2.0
// What a hostile zygote (hostile_zygote.cc) and who sets it loose agree on.
#pragma once

namespace glovebox::conformance {

// Shared between processes, which only ever count up.
struct Hunt {
  int hunted = 0;  // Processes.
  int opened = 0;  // Of those, whose memory could be opened: its own sandboxes' wardens.
  int found = 0;   // How often the prey was in it.
};

// Put together they are the prey.
inline constexpr const char* kPreyHead = "a secret of somebody else's sandbox, ";
inline constexpr const char* kPreyTail = "kept by who makes all of them";

}  // namespace glovebox::conformance
