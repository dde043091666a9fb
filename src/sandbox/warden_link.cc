// SPDX-License-Identifier: Apache-2.0
#include "sandbox/warden_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/sys/descriptors.h"

namespace glovebox {

void WardenLink::send(warden::Request type, std::uint32_t channel, std::string_view payload) {
  append_frame(outgoing_, static_cast<std::uint8_t>(type), channel, payload);
}

Result<void> WardenLink::send_with(warden::Request type,
                                   std::uint32_t channel,
                                   std::string_view payload,
                                   std::span<const int> passed) {
  for (;;) {
    GB_TRY(flush());
    if (!has_unsent()) {
      break;
    }
    pollfd polled{socket_.get(), POLLOUT, 0};
    (void)::poll(&polled, 1, -1);
  }
  send(type, channel, payload);
  // The descriptors belong to the first byte of the frame.
  if (sys::send_with(socket_.get(), std::string_view(outgoing_).substr(0, 1), passed, 0) != 1) {
    outgoing_.clear();
    return Error(ErrorCode::kUnavailable, "the warden is gone");
  }
  outgoing_.erase(0, 1);
  return flush();
}

Result<void> WardenLink::flush() {
  std::size_t sent = 0;
  while (sent < outgoing_.size()) {
    const ssize_t put = ::send(socket_.get(), outgoing_.data() + sent, outgoing_.size() - sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno == EAGAIN) {
        break;
      }
      outgoing_.clear();
      return Error(ErrorCode::kUnavailable, "the warden is gone");
    }
    sent += static_cast<std::size_t>(put);
  }
  outgoing_.erase(0, sent);
  return {};
}

Result<std::optional<Frame>> WardenLink::poll_frame() {
  Frame frame;
  if (GB_TRY(parser_.next(frame))) {
    return std::optional(frame);
  }
  const ssize_t got = ::recv(socket_.get(), received_.get(), kReceiveSize, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno == ECONNRESET)) {
    return Error(ErrorCode::kUnavailable, "the warden is gone");
  }
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) {
      return std::optional<Frame>();
    }
    return Error::from_errno("hear the warden");
  }
  parser_.feed({received_.get(), static_cast<std::size_t>(got)});
  if (GB_TRY(parser_.next(frame))) {
    return std::optional(frame);
  }
  return std::optional<Frame>();
}

Result<Frame> WardenLink::receive(Clock::time_point deadline) {
  for (;;) {
    GB_TRY(flush());
    if (auto frame = GB_TRY(poll_frame()); frame) {
      return *frame;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return Error(ErrorCode::kUnavailable, "the warden does not answer");
    }
    pollfd polled{socket_.get(), static_cast<short>(POLLIN | (has_unsent() ? POLLOUT : 0)), 0};
    (void)::poll(&polled, 1, static_cast<int>(left));
  }
}

}  // namespace glovebox
