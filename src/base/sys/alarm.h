// SPDX-License-Identifier: Apache-2.0
// Alarm: a thread waits for a time that others choose. Setting it costs one system call and, unlike
// a condition variable, wakes nobody before that time.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "base/unique_fd.h"

namespace glovebox::sys {

// Any thread may set it; one waits. If no descriptor can be had, it rings every kInstead.
class Alarm {
 public:
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

  // Replaces what was set before.
  void set(Clock::time_point when) const {
    // Zero would be never.
    const auto at =
        std::max<std::chrono::nanoseconds>(when.time_since_epoch(), std::chrono::nanoseconds(1));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
    itimerspec times{};
    times.it_value = {.tv_sec = static_cast<time_t>(seconds.count()),
                      .tv_nsec = static_cast<long>((at - seconds).count())};
    (void)::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &times, nullptr);
  }

  // Waits until it has rung since the last wait.
  void wait() const {
    std::uint64_t count = 0;
    while (::read(timer_.get(), &count, sizeof count) < 0) {
      if (errno != EINTR) {
        (void)::usleep(kInstead);
        return;
      }
    }
  }

 private:
  static constexpr useconds_t kInstead = 50'000;

  UniqueFd timer_{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)};
};

}  // namespace glovebox::sys
