// SPDX-License-Identifier: Apache-2.0
// The one thing that code between clone and exec can say: how far it came, and how long each step
// took. Laid out as a frame (base/frame.h) with a SetupReport (spec/warden_protocol.h) in it.
#pragma once

#include <time.h>

#include <array>
#include <cstdint>

#include "base/sys/raw.h"
#include "sandbox/child/plan.h"

namespace glovebox::child {

class Report {
 public:
  // `since_ns` is when the parent began to clone, on the monotonic clock: the time since then is
  // booked on kBorn.
  Report(int control_fd, std::uint64_t since_ns) noexcept
      : control_fd_(control_fd), last_ns_(since_ns) {
    done(SetupStep::kBorn);
  }

  // Uses another descriptor of the same socket from now on.
  void speak_through(int control_fd) noexcept { control_fd_ = control_fd; }

  // Books the time since the last call on `step`.
  void done(SetupStep step) noexcept;

  // Sends the report. `error` is a positive errno, or zero when the set-up succeeded.
  void send(SetupStep failed_step, int error, std::uint32_t detail) noexcept;

 private:
  static std::uint64_t now_ns() noexcept;

  int control_fd_;
  std::uint64_t last_ns_;
  std::array<std::uint32_t, kSetupSteps> step_us_{};
};

}  // namespace glovebox::child
