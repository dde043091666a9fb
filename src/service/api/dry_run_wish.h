// SPDX-License-Identifier: Apache-2.0
// DryRunWish: what code or a command changes is to wait for a decision (decide_dry_run()).
#pragma once

#include <chrono>

namespace glovebox {

struct DryRunWish {
  static constexpr std::chrono::minutes kTimeout{5};
  static constexpr std::chrono::hours kMostTimeout{1};

  bool wanted = false;
  bool network = false;  // It is open as ever, though nobody can take that back.
  std::chrono::milliseconds timeout = kTimeout;  // Then it is discarded.
};

}  // namespace glovebox
