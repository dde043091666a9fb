// SPDX-License-Identifier: Apache-2.0
// DescriptorBudget: new sandboxes are refused while the living ones still have descriptors to use.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "base/result.h"

namespace glovebox::keeper {

// Safe to use from several threads.
class DescriptorBudget {
 public:
  // Call it before opening `count` descriptors for good, or for long. kExhausted if more than four
  // fifths of what this process may have would then be open: the rest is for living sandboxes.
  Result<void> admit(std::size_t count);

 private:
  std::mutex mutex_;
  std::size_t open_ = 0;  // At the last count, plus what was admitted since.
  std::chrono::steady_clock::time_point counted_{};
};

// Whether this process can hardly open any more: if so, that is why something just failed.
bool is_starved();
// The error to tell a caller then.
Error starved();

}  // namespace glovebox::keeper
