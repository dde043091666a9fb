// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/strangers.h"

namespace glovebox::e2b {

Result<void> Strangers::charge(std::size_t cost) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (; cost > 0; --cost) {
    if (bucket_.take(now).count() > 0) {
      return Error(ErrorCode::kExhausted, "too many requests without a valid token",
                   "try again in 1 second, or use the sandbox's host name in the URL");
    }
  }
  return {};
}

}  // namespace glovebox::e2b
