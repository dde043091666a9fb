// SPDX-License-Identifier: Apache-2.0
// Stopwatch: where the time goes when a sandbox starts. The benchmark is part of the product.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "spec/verdict.h"

namespace glovebox {

class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Books the time since the last lap, or the start, on `step`.
  void lap(std::string step) {
    const Clock::time_point now = Clock::now();
    laps_.push_back(
        {std::move(step), std::chrono::duration_cast<std::chrono::microseconds>(now - last_)});
    last_ = now;
  }

  [[nodiscard]] std::vector<Timing> laps() const { return laps_; }

 private:
  Clock::time_point last_ = Clock::now();
  std::vector<Timing> laps_;
};

}  // namespace glovebox
