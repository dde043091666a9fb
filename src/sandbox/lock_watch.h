// SPDX-License-Identifier: Apache-2.0
// LockWatch: ends who fills the kernel's memory with file locks.
//
// A lock of a range (fcntl(2), F_SETLK) takes memory that the kernel charges to nobody, and a
// process may take any number of them (fs/locks.c; RLIMIT_LOCKS has no effect since Linux 2.6). A
// system call filter cannot count, so they are counted from outside, while a guest is at work and
// the kernel's own memory grows. The filter sees to it that each lock belongs to a living process
// that has the file open: it refuses locks of open file descriptions, and tables of descriptors
// that outlive their process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "sandbox/cgroup.h"

namespace glovebox {

// Of one sandbox.
class LockWatch {
 public:
  // What all processes of a sandbox may hold together, about 10 MB of the kernel's memory.
  static constexpr std::uint64_t kMostLocks = 50'000;

  // Where the processes of the sandbox are found.
  struct Where {
    const Cgroup& cgroup;
    int warden_pidfd;
    bool own_pids;  // A pid namespace.
  };

  // Counts the locks, if it is time to, and kills who holds them where they are more than
  // kMostLocks. Returns whether it has. To be called every 100 ms or so while guests run; cheap
  // when there is nothing to count. Any thread may; of two at once one returns at once.
  bool end_hoarders(const Where& where);

  // How often it has killed.
  [[nodiscard]] std::uint32_t ended() const { return ended_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_time(const Where& where);

  std::mutex mutex_;
  std::uint64_t kernel_memory_ = UINT64_MAX;  // The least since the last count.
  std::chrono::microseconds cpu_{0};          // At the last count.
  Clock::time_point next_{};                  // Count by then even where nothing has grown.
  Clock::time_point not_before_{};
  std::size_t turn_ = 0;
  std::atomic<std::uint32_t> ended_ = 0;
};

}  // namespace glovebox
