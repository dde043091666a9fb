// SPDX-License-Identifier: Apache-2.0
#include "files/server/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <span>

#include "base/sys/descriptors.h"

namespace glovebox::files {
namespace {

constexpr std::int64_t kTellEveryMs = 1000;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Error gone() { return {ErrorCode::kUnavailable, "the client disconnected"}; }

Channel::Channel(int socket) : socket_(socket), buffer_(kPiece, '\0'), told_ms_(now_ms()) {}

Result<Frame> Channel::receive() {
  for (;;) {
    Frame frame;
    if (GB_TRY(parser_.next(frame))) {
      return frame;
    }
    const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return gone();
    }
    parser_.feed({buffer_.data(), static_cast<std::size_t>(got)});
  }
}

Result<bool> Channel::poll(Frame& frame) {
  if (GB_TRY(parser_.next(frame))) {
    return true;
  }
  const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (got <= 0) {
    return gone();
  }
  parser_.feed({buffer_.data(), static_cast<std::size_t>(got)});
  return parser_.next(frame);
}

bool Channel::is_gone() const {
  pollfd polled{socket_, POLLRDHUP, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

Result<void> Channel::send(Reply type, std::string_view payload, int descriptor) {
  out_.clear();
  append_frame(out_, static_cast<std::uint8_t>(type), 0, payload);
  std::string_view left = out_;
  std::span<const int> passed;
  if (descriptor >= 0) {
    passed = {&descriptor, 1};
  }
  while (!left.empty()) {
    const ssize_t sent = sys::send_with(socket_, left, passed, 0);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return gone();
    }
    left.remove_prefix(static_cast<std::size_t>(sent));
    passed = {};
  }
  return {};
}

void Channel::tell_progress() {
  const std::int64_t now = now_ms();
  if (now - told_ms_ >= kTellEveryMs) {
    told_ms_ = now;
    (void)send(Reply::kWorking, {});
  }
}

}  // namespace glovebox::files
