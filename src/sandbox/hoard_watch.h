// SPDX-License-Identifier: Apache-2.0
// HoardWatch: ends who fills the kernel's memory with what it charges to nobody.
//
// A lock of a range (fcntl(2), F_SETLK) takes memory that the kernel charges to nobody, and a
// process may take any number of them (fs/locks.c; RLIMIT_LOCKS has no effect since Linux 2.6). So
// does what waits in some sockets (socket_queues.h). A system call filter cannot count, so both are
// counted from outside, while a guest is at work and the kernel's own memory grows. The filter sees
// to it that each lock belongs to a living process that has the file open: it refuses locks of open
// file descriptions, and tables of descriptors that outlive their process.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "sandbox/cgroup.h"
#include "sandbox/guests_seen.h"

namespace glovebox {

// What a sandbox may hold only so much of.
enum class Hoard { kLocks, kSockets };
inline constexpr std::array kHoards = {Hoard::kLocks, Hoard::kSockets};

// The limit on it, as verdicts name it.
constexpr std::string_view limit_of(Hoard hoard) {
  return hoard == Hoard::kLocks ? "locks" : "socket_queues";
}

// Of one sandbox.
class HoardWatch {
 public:
  // What all processes of a sandbox may hold together: locks, about 10 MB of the kernel's memory,
  // and bytes that wait in sockets.
  static constexpr std::uint64_t kMostLocks = 50'000;
  static constexpr std::uint64_t kMostQueued = 64ULL << 20;

  // How often each limit was enforced.
  using Kills = std::array<std::uint32_t, kHoards.size()>;

  // Where the processes of the sandbox are found.
  using Where = GuestPlace;

  // Counts, if it is time to, and kills: who holds locks where they are more than kMostLocks; and
  // everything but the warden where sockets hold more than kMostQueued, because a socket need not
  // be in anybody's table of descriptors. Returns what it has killed for. To be called every 100 ms
  // or so while guests run; cheap when there is nothing to count. Any thread may; of two at once
  // one returns at once.
  std::optional<Hoard> end_hoarders(const Where& where);

  [[nodiscard]] Kills kills() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool is_time(const Where& where);
  bool end_holders_of_locks(const Where& where);

  std::mutex mutex_;
  std::uint64_t kernel_memory_ = UINT64_MAX;  // The least since the last count.
  std::chrono::microseconds cpu_{0};          // At the last count.
  Clock::time_point next_{};                  // Count by then even where nothing has grown.
  Clock::time_point not_before_{};
  std::size_t turn_ = 0;
  std::array<std::atomic<std::uint32_t>, kHoards.size()> kills_{};
};

}  // namespace glovebox
