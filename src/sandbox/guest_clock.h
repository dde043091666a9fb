// SPDX-License-Identifier: Apache-2.0
// GuestClock: the time of a sandbox, which stands still while the sandbox is paused.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

namespace glovebox {

// Safe to use from several threads.
class GuestClock {
 public:
  using Base = std::chrono::steady_clock;

  // Only differences between two of these mean anything.
  [[nodiscard]] Base::time_point now() const {
    const std::scoped_lock lock(mutex_);
    return (stopped_at_ ? *stopped_at_ : Base::now()) - stood_still_;
  }

  [[nodiscard]] bool stopped() const {
    const std::scoped_lock lock(mutex_);
    return stopped_at_.has_value();
  }

  void stop() {
    const std::scoped_lock lock(mutex_);
    if (!stopped_at_) {
      stopped_at_ = Base::now();
    }
  }

  void go_on() {
    const std::scoped_lock lock(mutex_);
    if (stopped_at_) {
      stood_still_ += Base::now() - *stopped_at_;
      stopped_at_.reset();
    }
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Base::time_point> stopped_at_;
  Base::duration stood_still_{0};
};

}  // namespace glovebox
