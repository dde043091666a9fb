// SPDX-License-Identifier: Apache-2.0
// DryRunWish: what code or a command changes must wait for a decision (decide_dry_run()).
#pragma once

#include <chrono>

namespace glovebox {

struct DryRunWish {
  static constexpr std::chrono::minutes kTimeout{5};
  static constexpr std::chrono::hours kMostTimeout{1};

  bool wanted = false;
  bool network = false;  // It stays open, though nobody can take back what is sent.
  std::chrono::milliseconds timeout = kTimeout;  // Then it is discarded.
};

}  // namespace glovebox
