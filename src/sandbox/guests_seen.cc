// SPDX-License-Identifier: Apache-2.0
#include "sandbox/guests_seen.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/sys/raw.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// How long killed processes, and those started since, may take to be gone.
constexpr auto kEndPatience = 5s;
constexpr int kLookAgainMs = 20;
constexpr std::size_t kMostCommand = 200;

std::optional<pid_t> to_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional(pid)
                                                                    : std::nullopt;
}

pid_t pid_after(const std::string& path, std::string_view key) {
  return static_cast<pid_t>(procfs::number_after(path, key));
}

pid_t warden_of(const GuestPlace& place) {
  return pid_after("/proc/self/fdinfo/" + std::to_string(place.warden_pidfd), "\nPid:");
}

// Without a cgroup: the processes in the warden's pid namespace, or, if it has none of its own, the
// warden's descendants.
std::vector<pid_t> find_processes(pid_t warden, bool own_pids) {
  std::vector<pid_t> found;
  if (warden <= 0) {
    return found;
  }
  struct stat home {};
  if (own_pids && ::stat((procfs::directory_of(warden) + "/ns/pid").c_str(), &home) != 0) {
    return found;
  }
  for (const pid_t pid : procfs::numbers_in("/proc")) {
    if (own_pids) {
      struct stat place {};
      if (::stat((procfs::directory_of(pid) + "/ns/pid").c_str(), &place) == 0 &&
          place.st_ino == home.st_ino && place.st_dev == home.st_dev) {
        found.push_back(pid);
      }
      continue;
    }
    constexpr int kDeepest = 4096;
    pid_t ancestor = pid;
    for (int depth = 0; depth < kDeepest && ancestor > 1 && ancestor != warden; ++depth) {
      ancestor = pid_after(procfs::directory_of(ancestor) + "/status", "\nPPid:");
    }
    if (ancestor == warden) {
      found.push_back(pid);
    }
  }
  return found;
}

// At most `most` bytes of it.
std::string text_of(const std::string& path, std::size_t most) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(most, '\0');
  const ssize_t size = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

// proc_pid_stat(5). The name of the program is the guest's, and may hold anything: fields are
// counted from its end.
struct Stat {
  std::string name{};
  char state = 'X';
  std::uint64_t threads = 0;
  std::uint64_t started = 0;
};
Stat stat_of(pid_t pid) {
  constexpr int kStateToThreads = 17;
  constexpr int kStateToStarted = 19;
  const std::string text = text_of(procfs::directory_of(pid) + "/stat", 1024);
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (close == std::string::npos || close + 2 >= text.size()) {
    return {};
  }
  Stat stat{.name = text.substr(open + 1, close - open - 1), .state = text[close + 2]};
  std::size_t at = close + 2;
  for (int i = 1; i <= kStateToStarted; ++i) {
    at = text.find(' ', at + 1);
    if (at == std::string::npos) {
      break;
    }
    if (i == kStateToThreads || i == kStateToStarted) {
      (void)std::from_chars(text.data() + at + 1, text.data() + text.size(),
                            i == kStateToThreads ? stat.threads : stat.started);
    }
  }
  return stat;
}

// Its number inside: the last of those that it has.
pid_t inner_pid(pid_t pid) {
  const std::string text = text_of(procfs::directory_of(pid) + "/status", 4096);
  const std::size_t begin = text.find("\nNSpid:");
  if (begin == std::string::npos) {
    return 0;
  }
  const std::size_t end = std::min(text.find('\n', begin + 1), text.size());
  const std::size_t last = text.find_last_of("\t ", end - 1);
  return to_pid(std::string_view(text).substr(last + 1, end - last - 1)).value_or(0);
}

std::string command_of(pid_t pid, const std::string& name) {
  std::string words = text_of(procfs::directory_of(pid) + "/cmdline", kMostCommand);
  while (words.ends_with('\0')) {
    words.pop_back();
  }
  std::ranges::replace(words, '\0', ' ');
  return words.empty() ? "[" + name + "]" : words;
}

// A process whose first thread alone has ended looks like a zombie, too.
bool is_over(const Stat& stat) {
  return stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1);
}

}  // namespace

namespace procfs {

std::uint64_t number_after(const std::string& path, std::string_view key) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t size = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
  const std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::size_t at = all.find(key);
  if (at == std::string_view::npos) {
    return 0;
  }
  std::uint64_t number = 0;
  const std::size_t from = std::min(all.find_first_not_of("\t ", at + key.size()), all.size());
  (void)std::from_chars(all.data() + from, all.data() + all.size(), number);
  return number;
}

std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is read by one thread.
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    if (const auto number = to_pid(entry->d_name)) {
      numbers.push_back(*number);
    }
  }
  return numbers;
}

std::string directory_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

}  // namespace procfs

std::vector<pid_t> processes_in(const GuestPlace& place) {
  return place.cgroup.limits_pids() ? place.cgroup.members()
                                    : find_processes(warden_of(place), place.own_pids);
}

pid_t warden_in(const GuestPlace& place) { return warden_of(place); }

std::vector<GuestSeen> guests_in(const GuestPlace& place) {
  const pid_t warden = warden_of(place);
  std::vector<GuestSeen> seen;
  for (const pid_t pid : processes_in(place)) {
    const Stat stat = stat_of(pid);
    if (pid != warden && !is_over(stat)) {
      seen.push_back({.outside = pid,
                      .started = stat.started,
                      .inside = inner_pid(pid),
                      .command = command_of(pid, stat.name)});
    }
  }
  return seen;
}

Result<void> end_guests_but(const std::vector<GuestSeen>& kept, const GuestPlace& place) {
  const pid_t warden = warden_of(place);
  const auto deadline = std::chrono::steady_clock::now() + kEndPatience;
  const auto is_kept = [&](pid_t pid, const Stat& stat) {
    return pid == warden || is_over(stat) || std::ranges::any_of(kept, [&](const GuestSeen& each) {
             return each.outside == pid && each.started == stat.started;
           });
  };
  for (;;) {
    std::vector<std::pair<pid_t, UniqueFd>> doomed;
    for (const pid_t pid : processes_in(place)) {
      if (!is_kept(pid, stat_of(pid))) {
        doomed.emplace_back(pid, UniqueFd(static_cast<int>(sys::raw(SYS_pidfd_open, pid, 0))));
      }
    }
    if (doomed.empty()) {
      return {};
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error(ErrorCode::kUnavailable, "processes of the sandbox do not end");
    }
    // A number that was read may be another's by now; one that is still listed is a guest's.
    const std::vector<pid_t> still = processes_in(place);
    std::vector<pollfd> ends;
    for (const auto& [pid, pidfd] : doomed) {
      if (pidfd && std::ranges::find(still, pid) != still.end()) {
        (void)sys::raw(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
        ends.push_back({pidfd.get(), POLLIN, 0});
      }
    }
    (void)::poll(ends.data(), ends.size(), kLookAgainMs);
  }
}

}  // namespace glovebox
