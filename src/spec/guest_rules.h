// SPDX-License-Identifier: Apache-2.0
// GuestRules: what policies let a guest do, as walls of its sandbox.
#pragma once

#include "spec/exec_rules.h"
#include "spec/write_rules.h"

namespace glovebox {

struct GuestRules {
  ExecRules exec{};    // The programs that it can start.
  WriteRules write{};  // Where it can write.

  // No wall at all.
  [[nodiscard]] bool empty() const { return exec.empty() && write.empty(); }

  friend bool operator==(const GuestRules&, const GuestRules&) = default;
};

}  // namespace glovebox
