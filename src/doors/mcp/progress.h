// SPDX-License-Identifier: Apache-2.0
// OutputProgress: what a guest prints, as progress of the call, while it runs.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "doors/mcp/call.h"

namespace glovebox::mcp {

// A few notifications a second, however much is printed; each has the end of what came since the
// one before.
class OutputProgress {
 public:
  explicit OutputProgress(const Call& call) : call_(call) {}

  void print(std::string_view text) {
    if (!call_.wants_progress()) {
      return;
    }
    printed_ += text.size();
    waiting_ += text;
    if (waiting_.size() > 2 * kMost) {
      waiting_.erase(0, waiting_.size() - kMost);
    }
    tell();
  }

  // Call this now and then while nothing is printed.
  void tell() {
    const auto now = Clock::now();
    if (!waiting_.empty() && now - last_ >= kEvery) {
      const std::size_t from = waiting_.size() > kMost ? waiting_.size() - kMost : 0;
      call_.progress(static_cast<double>(printed_), std::nullopt,
                     std::string_view(waiting_).substr(from));
      waiting_.clear();
      last_ = now;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kEvery{100};
  static constexpr std::size_t kMost = 4'096;

  const Call& call_;
  std::string waiting_;
  std::size_t printed_ = 0;
  Clock::time_point last_{};
};

}  // namespace glovebox::mcp
