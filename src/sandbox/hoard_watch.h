// SPDX-License-Identifier: Apache-2.0
// HoardWatch: ends guests that fill memory with what the kernel charges to nobody.
//
// A lock of a range (fcntl(2), F_SETLK) takes memory that the kernel charges to nobody, and a
// process may take any number of them (fs/locks.c; RLIMIT_LOCKS has no effect since Linux 2.6).
// Data that waits in some sockets does the same (socket_queues.h). A system call filter cannot
// count, so both are counted from outside, while a guest is at work and the kernel's own memory
// grows. The filter ensures that each lock belongs to a living process that has the file open: it
// refuses locks of open file descriptions, and tables of descriptors that outlive their process.
//
// If no cgroup limits memory, all memory is counted this way (resident_memory.h).
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

// What a sandbox may hold only a limited amount of.
enum class Hoard { kLocks, kSockets, kMemory };
inline constexpr std::array kHoards = {Hoard::kLocks, Hoard::kSockets, Hoard::kMemory};

// The limit on it, as verdicts name it.
constexpr std::string_view limit_of(Hoard hoard) {
  switch (hoard) {
    case Hoard::kLocks:
      return "locks";
    case Hoard::kSockets:
      return "socket_queues";
    case Hoard::kMemory:
      return "memory";
  }
  return {};
}

// For one sandbox.
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

  // Counts, if it is time to, and kills: the holders of locks, if there are more than kMostLocks;
  // everything but the warden, if sockets hold more than kMostQueued, because a socket need not
  // be in anybody's table of descriptors; and the largest processes, if all of them have more
  // than `most_memory` bytes (zero: no limit). Returns what it has killed for. Call it
  // every 100 ms or so while guests run; cheap when there is nothing to count. Any thread may call
  // it; if two do so at once, one of them returns at once.
  std::optional<Hoard> end_hoarders(const Where& where, std::uint64_t most_memory);

  [[nodiscard]] Kills kills() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool is_time(const Where& where);
  std::optional<Hoard> end_holders_of_kernel_memory(const Where& where);
  bool end_holders_of_locks(const Where& where);
  bool end_holders_of_memory(const Where& where, std::uint64_t most);

  std::mutex mutex_;
  std::uint64_t kernel_memory_ = UINT64_MAX;  // The least since the last count.
  std::chrono::microseconds cpu_{0};          // At the last count.
  Clock::time_point next_{};                  // Count by then even if nothing has grown.
  Clock::time_point not_before_{};
  std::size_t turn_ = 0;
  // Likewise of the guests' memory, if it is counted here.
  std::uint64_t host_memory_ = 0;
  std::uint64_t guest_memory_ = 0;
  Clock::time_point next_memory_{};
  Clock::time_point memory_not_before_{};
  std::array<std::atomic<std::uint32_t>, kHoards.size()> kills_{};
};

}  // namespace glovebox
