// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/channel.h"

#include <sys/socket.h>

#include <cerrno>

namespace glovebox::http {
namespace {

class PlainChannel final : public Channel {
 public:
  using Channel::Channel;

  Outcome handshake() override { return {.status = Status::kDone}; }

  Outcome read(std::span<char> into) override {
    while (true) {
      const ssize_t count = ::recv(fd(), into.data(), into.size(), 0);
      if (count > 0) {
        return {.status = Status::kDone, .bytes = static_cast<std::size_t>(count)};
      }
      if (count == 0) {
        return {.status = Status::kEnd};
      }
      if (errno != EINTR) {
        return {.status = errno == EAGAIN ? Status::kWantRead : Status::kFailed};
      }
    }
  }

  Outcome write(std::span<const iovec> pieces) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());  // Only read, by sendmsg(2).
    message.msg_iovlen = pieces.size();
    while (true) {
      const ssize_t count = ::sendmsg(fd(), &message, MSG_NOSIGNAL);
      if (count >= 0) {
        return {.status = Status::kDone, .bytes = static_cast<std::size_t>(count)};
      }
      if (errno != EINTR) {
        return {.status = errno == EAGAIN ? Status::kWantWrite : Status::kFailed};
      }
    }
  }

  void end_writing() override { (void)::shutdown(fd(), SHUT_WR); }
  [[nodiscard]] bool has_pending() const override { return false; }
  [[nodiscard]] bool is_plain() const override { return true; }
};

}  // namespace

void break_off(const Channel& channel, bool until_close) {
  if (until_close) {
    // Only a reset can be told from the end of the answer.
    const linger reset{.l_onoff = 1, .l_linger = 0};
    (void)::setsockopt(channel.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  } else {
    (void)::shutdown(channel.fd(), SHUT_RDWR);
  }
}

std::unique_ptr<Channel> plain_channel(UniqueFd fd) {
  return std::make_unique<PlainChannel>(std::move(fd));
}

}  // namespace glovebox::http
