// SPDX-License-Identifier: Apache-2.0
#include "base/confined/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/sys/installation.h"
#include "base/sys/raw.h"
#include "base/sys/start_process.h"

namespace glovebox::confined {
namespace {

Result<std::string> find_program(const std::string& name) {
  const std::vector<std::string> directories = GB_TRY(sys::installed_directories());
  for (const std::string& directory : directories) {
    if (::access((directory + "/" + name).c_str(), X_OK) == 0) {
      return directory + "/" + name;
    }
  }
  return Error(ErrorCode::kUnsupported, name + " is not installed",
               "install it in /usr/libexec/glovebox, next to glovebox's other programs");
}

}  // namespace

Result<Channel> make_channel() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  return Channel{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Process> Process::start(const Start& start) {
  const std::string path = GB_TRY(find_program(start.program));
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    return Error::from_errno("open /");
  }
  sys::NewProcess wanted{.program = path,
                         .words = {start.program},
                         .environment = std::vector<std::string>(),
                         .descriptors = start.descriptors,
                         .directory = start.directory >= 0 ? start.directory : root.get(),
                         // A Ctrl-C at the terminal is for us to hear.
                         .group = sys::NewProcess::Group::kItsOwn,
                         .all_signals_default = true};
  wanted.words.insert(wanted.words.end(), start.arguments.begin(), start.arguments.end());
  const pid_t pid = GB_TRY(sys::start_process(wanted));
  Process process(pid, UniqueFd(static_cast<int>(sys::raw(SYS_pidfd_open, pid, 0))));
  if (process.pidfd() < 0) {
    return Error::from_errno("pidfd_open");
  }
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

Process::~Process() {
  if (pid_ > 0) {
    kill();
    (void)wait();
  }
}

void Process::kill() const {
  // Ours until it is waited for, so no other process has its id.
  (void)::kill(pid_, SIGKILL);
}

int Process::wait() { return sys::wait_for_end(std::exchange(pid_, -1)); }

}  // namespace glovebox::confined
