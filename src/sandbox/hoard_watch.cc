// SPDX-License-Identifier: Apache-2.0
#include "sandbox/hoard_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/raw.h"
#include "base/unique_fd.h"
#include "sandbox/guests_seen.h"
#include "sandbox/resident_memory.h"
#include "sandbox/socket_queues.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Growth of the kernel's memory that is worth a count: 20,000 locks.
constexpr std::uint64_t kGrowth = 4ULL << 20;
// In this much processor time nobody takes more than 10,000 locks.
constexpr std::chrono::microseconds kLittleWork = 20ms;
// Growth may be hidden by what others give back meanwhile.
constexpr auto kCountAnyway = 10s;
// The processor time that a count may take, enough for twice kMostLocks on a slow processor; and
// how many times as long as a count took we then pause. Less after sockets: they fill faster.
constexpr std::chrono::nanoseconds kLongest = 5s;
constexpr int kPauseAfterLocks = 20;
constexpr int kPauseAfterSockets = 3;
constexpr int kPauseAfterMemory = 3;
// The memory of guests is counted anyway after this time.
constexpr auto kCountMemoryAnyway = 1s;
// One answer about the host serves all sandboxes of this process for this time.
constexpr auto kFresh = 20ms;
// A process that holds fewer is not worth ending.
constexpr std::uint64_t kFew = 100;

// In bytes: what the kernel has for itself and cannot give back, and what all TCP connections of
// the host hold, whatever their namespace.
std::uint64_t read_kernel_memory() {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return (procfs::number_after("/proc/meminfo", "\nSUnreclaim:") << 10) +
         procfs::number_after("/proc/net/sockstat", " mem ") * page;
}

// In bytes: what all processes of the host have in memory that is not a copy of a file.
std::uint64_t read_process_memory() {
  return (procfs::number_after("/proc/meminfo", "\nAnonPages:") +
          procfs::number_after("/proc/meminfo", "\nShmem:") +
          procfs::number_after("/proc/meminfo", "\nPageTables:"))
         << 10;
}

template <std::uint64_t (*read)()>
std::uint64_t fresh() {
  static std::mutex mutex;
  static Clock::time_point read_at{};
  static std::uint64_t bytes = 0;
  const std::scoped_lock lock(mutex);
  if (Clock::now() - read_at >= kFresh) {
    bytes = read();
    read_at = Clock::now();
  }
  return bytes;
}

std::chrono::nanoseconds own_processor_time() {
  timespec time{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The locks that a process holds by a descriptor (proc_pid_fdinfo(5)): each is a line "lock: …",
// and no other line begins so.
std::uint64_t locks_by(const std::string& info) {
  const UniqueFd fd(::open(info.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 16 * 1024> text;
  std::uint64_t locks = 0;
  bool line_begins = true;
  for (;;) {
    const ssize_t got = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
    if (got <= 0) {
      return locks;
    }
    for (const char c : std::string_view(text.data(), static_cast<std::size_t>(got))) {
      locks += line_begins && c == 'l' ? 1 : 0;
      line_begins = c == '\n';
    }
  }
}

std::uint64_t locks_of(pid_t pid, std::chrono::nanoseconds until) {
  // If the first thread of a process has ended, the others have the descriptors.
  for (const pid_t task : procfs::numbers_in(procfs::directory_of(pid) + "/task")) {
    const std::string folder =
        procfs::directory_of(pid) + "/task/" + std::to_string(task) + "/fdinfo";
    const std::vector<pid_t> descriptors = procfs::numbers_in(folder);
    std::uint64_t locks = 0;
    for (const pid_t fd : descriptors) {
      locks += locks_by(folder + "/" + std::to_string(fd));
      if (locks > HoardWatch::kMostLocks || own_processor_time() >= until) {
        return locks;
      }
    }
    if (!descriptors.empty()) {
      return locks;
    }
  }
  return 0;
}

struct Holder {
  pid_t pid;
  UniqueFd pidfd;
};

Holder holder_of(pid_t pid) {
  return {pid, UniqueFd(static_cast<int>(sys::raw(SYS_pidfd_open, pid, 0)))};
}

// Returns whether it has killed any. A number that was read may be another's by now; one that is
// still listed is a guest's.
bool kill_those(const std::vector<Holder>& holders, const HoardWatch::Where& where) {
  const std::vector<pid_t> still = processes_in(where);
  bool killed = false;
  for (const Holder& holder : holders) {
    if (holder.pidfd && std::ranges::find(still, holder.pid) != still.end()) {
      killed |= sys::raw(SYS_pidfd_send_signal, holder.pidfd.get(), SIGKILL, nullptr, 0) >= 0;
    }
  }
  return killed;
}

bool end_all_but(pid_t warden, const HoardWatch::Where& where) {
  std::vector<Holder> guests;
  for (const pid_t pid : processes_in(where)) {
    if (pid != warden) {
      guests.push_back(holder_of(pid));
    }
  }
  return kill_those(guests, where);
}

}  // namespace

bool HoardWatch::is_time(const Where& where) {
  const Clock::time_point now = Clock::now();
  if (now < not_before_) {
    return false;
  }
  const std::uint64_t memory = fresh<read_kernel_memory>();
  if (next_ == Clock::time_point{}) {
    next_ = now + kCountAnyway;
  }
  kernel_memory_ = std::min(kernel_memory_, memory);
  if (memory - kernel_memory_ < kGrowth && now < next_) {
    return false;
  }
  const auto cpu = where.cgroup.cpu_time();
  if (cpu && *cpu - cpu_ < kLittleWork) {
    return false;
  }
  kernel_memory_ = memory;
  cpu_ = cpu.value_or(0us);
  next_ = now + kCountAnyway;
  return true;
}

bool HoardWatch::end_holders_of_locks(const Where& where) {
  const std::chrono::nanoseconds start = own_processor_time();
  std::vector<pid_t> all = processes_in(where);
  if (!all.empty()) {
    // If there are too many descriptors to look at, others come first the next time.
    std::ranges::rotate(all, all.begin() + static_cast<std::ptrdiff_t>(turn_++ % all.size()));
  }
  std::uint64_t total = 0;
  std::vector<Holder> holders;
  for (const pid_t pid : all) {
    Holder holder = holder_of(pid);
    const std::uint64_t locks = locks_of(pid, start + kLongest);
    total += locks;
    if (locks >= kFew) {
      holders.push_back(std::move(holder));
    }
    if (total > kMostLocks || own_processor_time() >= start + kLongest) {
      break;
    }
  }
  return total > kMostLocks && kill_those(holders, where);
}

bool HoardWatch::end_holders_of_memory(const Where& where, std::uint64_t most) {
  const Clock::time_point now = Clock::now();
  if (now < memory_not_before_) {
    return false;
  }
  // Guests cannot have taken more than the host has lost. Counting at half of what is left to them
  // allows for what others gave back meanwhile.
  const std::uint64_t host = fresh<read_process_memory>();
  host_memory_ = std::min(host_memory_, host);
  const std::uint64_t left = most - std::min(guest_memory_, most);
  if (host - host_memory_ < left / 2 && now < next_memory_) {
    return false;
  }
  const std::chrono::nanoseconds start = own_processor_time();
  const std::vector<ProcessMemory> processes = memory_of_guests(where, most);
  std::vector<Holder> largest;
  for (const pid_t pid : largest_beyond(processes, most)) {
    largest.push_back(holder_of(pid));
  }
  const bool killed = !largest.empty() && kill_those(largest, where);
  host_memory_ = host;
  guest_memory_ = total_of(processes);
  next_memory_ = now + kCountMemoryAnyway;
  memory_not_before_ = Clock::now() + kPauseAfterMemory * (own_processor_time() - start);
  return killed;
}

std::optional<Hoard> HoardWatch::end_hoarders(const Where& where, std::uint64_t most_memory) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) {
    return std::nullopt;
  }
  std::optional<Hoard> ended;
  if (most_memory > 0 && end_holders_of_memory(where, most_memory)) {
    ended = Hoard::kMemory;
  } else if (is_time(where)) {
    ended = end_holders_of_kernel_memory(where);
  }
  if (ended) {
    ++kills_[static_cast<std::size_t>(*ended)];
  }
  return ended;
}

std::optional<Hoard> HoardWatch::end_holders_of_kernel_memory(const Where& where) {
  std::optional<Hoard> ended;
  const std::chrono::nanoseconds start = own_processor_time();
  const pid_t warden = warden_in(where);
  std::vector<pid_t> all = processes_in(where);
  all.insert(all.begin(), warden);
  const std::uint64_t queued = queued_in_sockets(
      all, kMostQueued, [start] { return own_processor_time() >= start + kLongest; });
  if (queued > kMostQueued && end_all_but(warden, where)) {
    ended = Hoard::kSockets;
  }
  const std::chrono::nanoseconds between = own_processor_time();
  if (!ended && end_holders_of_locks(where)) {
    ended = Hoard::kLocks;
  }
  not_before_ = Clock::now() + kPauseAfterSockets * (between - start) +
                kPauseAfterLocks * (own_processor_time() - between);
  return ended;
}

HoardWatch::Kills HoardWatch::kills() const {
  Kills all{};
  std::ranges::copy(kills_, all.begin());
  return all;
}

}  // namespace glovebox
