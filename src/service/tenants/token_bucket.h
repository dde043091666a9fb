// SPDX-License-Identifier: Apache-2.0
// TokenBucket: so many requests a second, and a few at once after a quiet time.
#pragma once

#include <chrono>

namespace glovebox {

// One thread at a time.
class TokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Full at first. Requires: rate > 0, burst >= 1.
  TokenBucket(double rate, double burst, Time now);

  // Takes a token and returns zero, or returns how long until there is one.
  std::chrono::nanoseconds take(Time now);

  // Keeps what is in it, as far as it fits.
  void change(double rate, double burst, Time now);

 private:
  void fill(Time now);

  double rate_;
  double burst_;
  double tokens_;
  Time filled_;
};

}  // namespace glovebox
