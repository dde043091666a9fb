// SPDX-License-Identifier: Apache-2.0
// Cancellation: tells that nobody waits for the result of a request any more.
#pragma once

#include <sys/eventfd.h>

#include <atomic>

#include "base/unique_fd.h"

namespace glovebox::mcp {

// Safe to use from several threads.
class Cancellation {
 public:
  Cancellation() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void cancel() {
    canceled_ = true;
    (void)::eventfd_write(fd_.get(), 1);
  }
  [[nodiscard]] bool canceled() const { return canceled_; }
  // Readable once it is canceled; -1 if the host had no descriptor left.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::atomic<bool> canceled_ = false;
  UniqueFd fd_;
};

}  // namespace glovebox::mcp
