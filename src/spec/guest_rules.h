// SPDX-License-Identifier: Apache-2.0
// GuestRules: what policies let a guest do, as walls of its sandbox.
#pragma once

#include "spec/exec_rules.h"
#include "spec/place_rules.h"

namespace glovebox {

struct GuestRules {
  ExecRules exec{};    // The programs that it can start.
  PlaceRules write{};  // Where it can write.
  PlaceRules read{};   // What it can read besides the system (Enclosure::system).

  // No wall at all.
  [[nodiscard]] bool empty() const { return exec.empty() && write.empty() && read.empty(); }

  friend bool operator==(const GuestRules&, const GuestRules&) = default;
};

}  // namespace glovebox
