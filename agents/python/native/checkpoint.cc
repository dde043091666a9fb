// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"
#include "base/sys/raw.h"
#include "base/unique_fd.h"
#include "huge_pages.h"

namespace glovebox::zygote {
namespace {

UniqueFd open_pidfd(pid_t pid) {
  const long fd = sys::raw(SYS_pidfd_open, pid, 0);
  return UniqueFd(fd < 0 ? -1 : static_cast<int>(fd));
}

// When memory runs out, the process that used it should die, not the copy it could go back to.
void outlive_the_original() {
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file) {
    (void)!::write(file.get(), "0", 1);
  }
}

void go_first() {
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file) {
    (void)!::write(file.get(), "1000", 4);
  }
}

// What was sent to the original and never read is not for us.
void forget_unread(int channel) {
  std::array<char, 4096> bytes;
  while (::recv(channel, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
}

// Tells the other end who we are.
void announce(int socket) {
  const UniqueFd pidfd = open_pidfd(::getpid());
  const std::array<int, 1> answer = {pidfd.get()};
  (void)sys::send_with(socket, "w", std::span<const int>(answer).first(pidfd ? 1 : 0), 0);
}

// Runs in the copy: sleeps, and returns only in the processes that it makes.
Awakening sleep_until_wanted(int channel, int socket) {
  // Nobody in here waits for the processes that it makes.
  struct sigaction reap_by_itself {};
  reap_by_itself.sa_handler = SIG_DFL;
  reap_by_itself.sa_flags = SA_NOCLDWAIT;
  struct sigaction children {};
  (void)::sigaction(SIGCHLD, &reap_by_itself, &children);
  outlive_the_original();
  for (;;) {
    std::array<char, 4096> word{};
    std::vector<UniqueFd> passed;
    const ssize_t got = sys::receive_with(socket, word, passed, 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      ::_exit(0);
    }
    word.back() = '\0';
    const bool fork_wanted = word[0] == 'f' && passed.size() == 3;
    const pid_t pid = ::fork();
    if (pid > 0) {
      continue;
    }
    if (pid < 0) {
      (void)sys::send_with(socket, "w", {}, 0);
      continue;
    }
    (void)::setpgid(0, 0);
    (void)::sigaction(SIGCHLD, &children, nullptr);
    go_first();
    if (!fork_wanted) {
      // Before the answer: after it, what comes is meant for us.
      forget_unread(channel);
      announce(socket);
      (void)::close(socket);
      return Awakening::kRolledBack;
    }
    const std::array<int, 3> targets = {channel, STDOUT_FILENO, STDERR_FILENO};
    for (std::size_t i = 0; i < targets.size(); ++i) {
      (void)::dup3(passed[i].get(), targets[i], i == 0 ? O_CLOEXEC : 0);
    }
    (void)!::chdir(word.data() + 1);
    announce(socket);
    (void)::close(socket);
    return Awakening::kForked;
  }
}

}  // namespace

Awakening make_checkpoint(int channel, std::string_view reply) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Awakening::kFailed;
  }
  UniqueFd outside(pair[0]);
  UniqueFd inside(pair[1]);
  // In memory, so that copies know it too. A process that makes only one does not pay for a next
  // one.
  static bool made_before = false;
  if (std::exchange(made_before, true)) {
    collapse_large_mappings();
  }
  // libc's own fork(3): the guest may have threads, and libc knows which of its locks they hold. It
  // runs in a process in between, so that the copy becomes a child of the sandbox's first process,
  // which waits for it at its end. The process in between borrows our memory while we stand still
  // (vfork(2)): copying it even once takes milliseconds.
  // NOLINTNEXTLINE(bugprone-unsafe-functions): posix_spawn(3) starts programs only.
  const pid_t between = ::vfork();
  if (between < 0) {
    return Awakening::kFailed;
  }
  if (between == 0) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      outside.reset();
      // Before anybody can signal our group: what is meant for the original is not meant for us.
      (void)::setpgid(0, 0);
      announce(inside.get());
      return sleep_until_wanted(channel, inside.release());
    }
    ::_exit(pid < 0 ? 1 : 0);
  }
  inside.reset();
  int status = 0;
  while (::waitpid(between, &status, 0) < 0 && errno == EINTR) {
  }
  std::vector<UniqueFd> came;
  std::array<char, 1> word{};
  if (sys::receive_with(outside.get(), word, came, 0) <= 0 || came.size() != 1) {
    errno = EAGAIN;
    return Awakening::kFailed;
  }
  const UniqueFd pidfd = std::move(came.front());
  const std::array<int, 2> passed = {pidfd.get(), outside.get()};
  if (!pidfd || sys::send_with(channel, reply, passed, 0) < 0) {
    return Awakening::kFailed;
  }
  return Awakening::kOriginal;
}

}  // namespace glovebox::zygote
