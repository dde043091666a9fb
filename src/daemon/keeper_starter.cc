// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper_starter.h"

#include <linux/close_range.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "daemon/keeper_process.h"
#include "service/keeper/wire.h"

namespace glovebox {
namespace {

constexpr char kStart = 'a';
constexpr char kStop = 'z';
// The first character of an answer; after kFailed, the rest is the error.
constexpr char kFailed = '-';
constexpr char kDone = '+';
constexpr char kStarted = '!';
constexpr std::size_t kLongest = 16'384;

std::string answer_to(char word,
                      const std::string& program,
                      const std::string& directory,
                      const std::string& user) {
  const Result<bool> done =
      word == kStart ? ensure_keeper(program, directory, user) : [&]() -> Result<bool> {
    GB_TRY(stop_keeper(directory));
    return false;
  }();
  if (!done) {
    return (kFailed + keeper::encode(done.error())).substr(0, kLongest);
  }
  return {*done ? kStarted : kDone};
}

[[noreturn]] void serve(UniqueFd socket,
                        const std::string& program,
                        const std::string& directory,
                        const std::string& user) {
  for (;;) {
    char word = 0;
    const ssize_t got = ::recv(socket.get(), &word, 1, 0);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got != 1 || (word != kStart && word != kStop)) {
      ::_exit(0);
    }
    const std::string answer = answer_to(word, program, directory, user);
    (void)::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  }
}

}  // namespace

Result<KeeperStarter> KeeperStarter::start(const std::string& program,
                                           const std::string& directory,
                                           const std::string& user) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error::from_errno("fork");
  }
  if (pid > 0) {
    return KeeperStarter(std::move(ours));
  }
  // Nothing of the daemon's may stay open after the daemon ends: no sockets, no terminal.
  constexpr int kOnly = 3;
  if (::dup2(theirs.get(), kOnly) != kOnly && theirs.get() != kOnly) {
    ::_exit(1);
  }
  (void)theirs.release();
  (void)ours.release();
  (void)::syscall(SYS_close_range, kOnly + 1, ~0U, 0);
  (void)::close(0);
  (void)::close(1);
  (void)::setsid();
  serve(UniqueFd(kOnly), program, directory, user);
}

Result<bool> KeeperStarter::ask(char word) {
  const std::scoped_lock lock(mutex_);
  std::string answer(kLongest, '\0');
  ssize_t got = ::send(socket_.get(), &word, 1, MSG_NOSIGNAL);
  if (got == 1) {
    do {
      got = ::recv(socket_.get(), answer.data(), answer.size(), 0);
    } while (got < 0 && errno == EINTR);
  }
  if (got <= 0) {
    return Error(ErrorCode::kUnavailable, "the process that starts keepers is gone",
                 "restart the daemon");
  }
  answer.resize(static_cast<std::size_t>(got));
  if (answer.front() == kFailed) {
    return keeper::decode_error(std::string_view(answer).substr(1));
  }
  return answer.front() == kStarted;
}

Result<bool> KeeperStarter::ensure() { return ask(kStart); }

Result<void> KeeperStarter::stop() {
  (void)GB_TRY(ask(kStop));
  return {};
}

}  // namespace glovebox
