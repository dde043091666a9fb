// SPDX-License-Identifier: Apache-2.0
#include "base/confined/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/sys/installation.h"
#include "base/sys/raw.h"

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

// Above those of the process, so that putting one in its place covers no other.
Result<UniqueFd> copy_above(std::size_t count, int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(count)));
  return copy ? Result<UniqueFd>(std::move(copy)) : Error::from_errno("fcntl");
}

class Spawning {
 public:
  Spawning() {
    (void)::posix_spawn_file_actions_init(&actions_);
    (void)::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    (void)::sigemptyset(&none);
    (void)::sigfillset(&all);
    (void)::posix_spawnattr_setsigmask(&attributes_, &none);
    (void)::posix_spawnattr_setsigdefault(&attributes_, &all);
    // Its own group: a Ctrl-C at the terminal is for us to hear.
    (void)::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;
  ~Spawning() {
    (void)::posix_spawnattr_destroy(&attributes_);
    (void)::posix_spawn_file_actions_destroy(&actions_);
  }

  void place(const UniqueFd& fd, int at) {
    (void)::posix_spawn_file_actions_adddup2(&actions_, fd.get(), at);
  }
  void enter(int directory) {
    if (directory >= 0) {
      (void)::posix_spawn_file_actions_addfchdir_np(&actions_, directory);
    } else {
      (void)::posix_spawn_file_actions_addchdir_np(&actions_, "/");
    }
  }

  // `count`: how many descriptors have been placed.
  Result<pid_t> start(const std::string& path, std::vector<std::string> words, std::size_t count) {
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    // Also what we inherited ourselves, which need not close on exec.
    (void)::posix_spawn_file_actions_addclosefrom_np(&actions_, static_cast<int>(count));
    char* const environment[] = {nullptr};
    pid_t pid = -1;
    const int error =
        ::posix_spawn(&pid, path.c_str(), &actions_, &attributes_, argv.data(), environment);
    return error == 0 ? Result<pid_t>(pid) : Error::from_errno("start " + words.front(), error);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

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
  Spawning spawning;
  const std::size_t count = start.descriptors.size();
  std::vector<UniqueFd> copies(count);
  for (std::size_t i = 0; i < count; ++i) {
    copies[i] = GB_TRY(copy_above(count, start.descriptors[i]));
    spawning.place(copies[i], static_cast<int>(i));
  }
  spawning.enter(start.directory);
  std::vector<std::string> words = {start.program};
  words.insert(words.end(), start.arguments.begin(), start.arguments.end());
  const pid_t pid = GB_TRY(spawning.start(path, std::move(words), count));
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

int Process::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

}  // namespace glovebox::confined
