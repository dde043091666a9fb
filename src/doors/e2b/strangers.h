// SPDX-License-Identifier: Apache-2.0
// Strangers: bounds what all requests without a valid secret may cost together. A request that
// shows one is not charged, so a flood of others takes nothing from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "base/result.h"
#include "service/tenants/token_bucket.h"

namespace glovebox::e2b {

// Any thread.
class Strangers {
 public:
  struct Rate {
    double a_second = 1;
    double at_once = 1;
  };
  explicit Strangers(Rate rate)
      : bucket_(rate.a_second, rate.at_once, std::chrono::steady_clock::now()) {}

  // kExhausted if less than `cost` is left.
  Result<void> charge(std::size_t cost);

 private:
  std::mutex mutex_;
  TokenBucket bucket_;
};

}  // namespace glovebox::e2b
