// SPDX-License-Identifier: Apache-2.0
// Happenings: what the keeper alone has seen and the journal is to know, until a daemon asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "service/api/happening.h"

namespace glovebox::keeper {

// Safe to use from several threads.
class Happenings {
 public:
  // Beyond that, while no daemon asks, they are counted only.
  static constexpr std::size_t kMost = 4'096;

  void note(Happening happening);
  // Those since the last call, oldest first. What was only counted is the last: "audit.missed".
  std::vector<Happening> take();

 private:
  std::mutex mutex_;  // Of both.
  std::vector<Happening> noted_;
  std::uint64_t missed_ = 0;
};

}  // namespace glovebox::keeper
