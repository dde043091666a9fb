// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/token_bucket.h"

#include <algorithm>

#include "base/check.h"

namespace glovebox {

using Seconds = std::chrono::duration<double>;

TokenBucket::TokenBucket(double rate, double burst, Time now)
    : rate_(rate), burst_(burst), tokens_(burst), filled_(now) {
  GB_CHECK(rate > 0 && burst >= 1);
}

void TokenBucket::fill(Time now) {
  // Threads take the time before they take the lock: `now` may be a little before the last one.
  if (now > filled_) {
    tokens_ = std::min(burst_, tokens_ + rate_ * Seconds(now - filled_).count());
    filled_ = now;
  }
}

std::chrono::nanoseconds TokenBucket::take(Time now) {
  fill(now);
  if (tokens_ >= 1) {
    tokens_ -= 1;
    return std::chrono::nanoseconds(0);
  }
  // No longer than a day, whatever the rate: a duration must hold it.
  const Seconds wait(std::min((1 - tokens_) / rate_, 86'400.0));
  return std::max(std::chrono::nanoseconds(1),
                  std::chrono::duration_cast<std::chrono::nanoseconds>(wait));
}

void TokenBucket::change(double rate, double burst, Time now) {
  GB_CHECK(rate > 0 && burst >= 1);
  fill(now);
  rate_ = rate;
  burst_ = burst;
  tokens_ = std::min(tokens_, burst);
}

}  // namespace glovebox
