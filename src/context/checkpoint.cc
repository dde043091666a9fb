// SPDX-License-Identifier: Apache-2.0
#include "context/checkpoint.h"

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "base/sys/descriptors.h"
#include "context/pidfd_process.h"

namespace glovebox {
namespace {

// A fork of a large process on a busy machine.
constexpr int kPatienceMs = 10'000;

bool is_unix_socket(int fd) {
  int domain = -1;
  socklen_t size = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

}  // namespace

Result<Checkpoint> Checkpoint::adopt(std::uint32_t id, ForeignDescriptors passed) {
  if (passed.size() != 2 || !is_inner_pidfd(passed[0]) || !is_unix_socket(passed[1])) {
    return Error(ErrorCode::kInvalid, "the agent replied without its copy");
  }
  return Checkpoint(id, passed.take(0), passed.take(1));
}

Result<std::unique_ptr<AgentProcess>> Checkpoint::wake() { return ask("w", {}); }

Result<std::unique_ptr<AgentProcess>> Checkpoint::fork(const std::array<int, 3>& descriptors,
                                                       std::string_view directory) {
  return ask("f" + std::string(directory), descriptors);
}

Result<std::unique_ptr<AgentProcess>> Checkpoint::ask(std::string_view words,
                                                      std::span<const int> passed) {
  ForeignDescriptors came;
  std::array<char, 16> answer{};
  pollfd polled{socket_.get(), POLLIN, 0};
  if (sys::send_with(socket_.get(), words, passed, MSG_DONTWAIT) < 0 ||
      ::poll(&polled, 1, kPatienceMs) <= 0 ||
      came.receive(socket_.get(), answer, MSG_DONTWAIT) <= 0) {
    return Error(ErrorCode::kUnavailable, "the copy of the interpreter is gone");
  }
  if (came.size() != 1 || !is_inner_pidfd(came[0])) {
    return Error(ErrorCode::kUnavailable, "the copy of the interpreter could not fork",
                 "raise the pids or memory limit");
  }
  return std::unique_ptr<AgentProcess>(new PidfdProcess(came.take(0)));
}

}  // namespace glovebox
