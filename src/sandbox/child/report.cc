// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/report.h"

#include <sys/socket.h>

namespace glovebox::child {
namespace {

constexpr std::uint8_t kSetupReply = 64;  // warden::Reply::kSetup; its header needs the heap.

struct [[gnu::packed]] ReportFrame {
  std::uint32_t size;
  std::uint8_t type;
  std::uint32_t channel;
  std::uint32_t failed_step;
  std::uint32_t error;
  std::uint32_t detail;
  std::array<std::uint32_t, kSetupSteps> step_us;
};

}  // namespace

std::uint64_t Report::now_ns() noexcept {
  timespec now{};
  (void)sys::raw(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void Report::done(SetupStep step) noexcept {
  const std::uint64_t now = now_ns();
  step_us_[static_cast<std::size_t>(step)] += static_cast<std::uint32_t>((now - last_ns_) / 1000);
  last_ns_ = now;
}

void Report::send(SetupStep failed_step, int error, std::uint32_t detail) noexcept {
  ReportFrame frame{};
  frame.size = sizeof(ReportFrame) - 9;
  frame.type = kSetupReply;
  frame.failed_step = static_cast<std::uint32_t>(failed_step);
  frame.error = static_cast<std::uint32_t>(error);
  frame.detail = detail;
  frame.step_us = step_us_;
  // One send: the socket's buffer is empty, and there is nobody to tell if it fails.
  (void)sys::raw(SYS_sendto, control_fd_, &frame, sizeof frame, MSG_NOSIGNAL, 0, 0);
}

}  // namespace glovebox::child
