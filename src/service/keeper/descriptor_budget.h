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
  // What is about to open `count` descriptors for good, or for long. kExhausted when more than four
  // fifths of what this process may have would be open: the rest is for sandboxes that live.
  Result<void> admit(std::size_t count);

 private:
  std::mutex mutex_;
  std::size_t open_ = 0;  // When it was counted, and what was admitted since.
  std::chrono::steady_clock::time_point counted_{};
};

// Whether this process can open hardly any more: whatever failed just now failed for that.
bool is_starved();
// What its caller is told then.
Error starved();

}  // namespace glovebox::keeper
