// SPDX-License-Identifier: Apache-2.0
#include "context/pidfd_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "base/sys/raw.h"

namespace glovebox {
namespace {

// struct pidfd_info of linux/pidfd.h, Linux 6.15; Debian 12's headers have none of it.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroupid;
  std::uint32_t ids[11];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kInfoExit = 1U << 3U;
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);

// The kernel knows once the process was waited for, by its parent in the sandbox, which follows its
// end at once but not in the same instant.
std::optional<int> remembered_status(int pidfd) {
  constexpr int kTries = 50;
  for (int i = 0; i < kTries; ++i) {
    PidfdInfo info{};
    info.mask = kInfoExit;
    if (::ioctl(pidfd, kGetInfo, &info) == 0) {
      if ((info.mask & kInfoExit) != 0) {
        return info.exit_code;
      }
    } else if (errno != ESRCH) {
      return std::nullopt;  // An older kernel.
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    (void)::nanosleep(&pause, nullptr);
  }
  return std::nullopt;
}

// In how many pid namespaces /proc shows a process, according to its file that says so; 0 if that
// names none (proc(5), pidfd_open(2)).
std::size_t namespace_depth(const std::string& file) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    if (words >> key && key == "NSpid:") {
      const std::istream_iterator<std::string> first(words);
      return static_cast<std::size_t>(std::distance(first, {}));
    }
  }
  return 0;
}

}  // namespace

bool is_inner_pidfd(int fd) {
  const std::size_t depth = namespace_depth("/proc/self/fdinfo/" + std::to_string(fd));
  return depth > namespace_depth("/proc/self/status");
}

Result<void> PidfdProcess::signal(int signal) {
  constexpr unsigned kGroup = 4;  // PIDFD_SIGNAL_PROCESS_GROUP
  long result = sys::raw(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, kGroup);
  if (result == -EINVAL) {
    result = sys::raw(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
  }
  if (result < 0 && result != -ESRCH) {
    return Error::from_errno("signal the interpreter", static_cast<int>(-result));
  }
  return {};
}

std::optional<int> PidfdProcess::wait_status() {
  pollfd polled{pidfd_.get(), POLLIN, 0};
  if (!status_ && ::poll(&polled, 1, 0) > 0) {
    status_ = remembered_status(pidfd_.get());
    if (!status_) {
      status_ = status_elsewhere();
    }
  }
  return status_;
}

std::optional<int> PidfdProcess::status_elsewhere() { return SIGKILL; }

}  // namespace glovebox
