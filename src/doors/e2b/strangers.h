// SPDX-License-Identifier: Apache-2.0
// Strangers: what requests that have shown no valid secret may cost, all of them together. One that
// shows a secret is not asked, so a flood of others takes nothing from it.
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

  // kExhausted when so much is not left.
  Result<void> charge(std::size_t cost);

 private:
  std::mutex mutex_;
  TokenBucket bucket_;
};

}  // namespace glovebox::e2b
