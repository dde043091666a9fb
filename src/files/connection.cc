// SPDX-License-Identifier: Apache-2.0
#include "files/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/sys/descriptors.h"
#include "base/sys/send_now.h"
#include "files/foreign.h"

namespace glovebox::files {
namespace {

using Clock = std::chrono::steady_clock;

Error closed() { return {ErrorCode::kUnavailable, "the file server has ended"}; }

}  // namespace

Connection::Connection(UniqueFd socket, std::chrono::milliseconds patience)
    : socket_(std::move(socket)),
      patience_(patience),
      buffer_(new char[kPiece]),
      asked_(Clock::now()) {}

Connection::~Connection() {
  // What still waits in the socket, descriptors too, would be closed with it as it is. Nothing new
  // can come after the shutdown, so this ends.
  if (!socket_) {
    return;
  }
  (void)::shutdown(socket_.get(), SHUT_RDWR);
  while (sys::receive_with(socket_.get(), {buffer_.get(), kPiece}, passed_, MSG_DONTWAIT) > 0) {
    close_foreign(passed_);
  }
  close_foreign(passed_);
}

Result<void> Connection::ask(Request request, const Order& order) {
  if (broken_) {
    return closed();
  }
  const std::string payload = order.encode();
  if (payload.size() > kMaxFramePayload || !Order::decode(payload)) {
    return Error(ErrorCode::kInvalid, "invalid path or metadata");
  }
  asked_ = Clock::now();
  close_foreign(passed_);
  return send(request, payload);
}

Result<void> Connection::send(Request type, std::string_view payload) {
  if (broken_) {
    return closed();
  }
  out_.clear();
  append_frame(out_, static_cast<std::uint8_t>(type), 0, payload);
  std::string_view left = out_;
  for (;;) {
    const auto sent = sys::send_now(socket_.get(), left);
    if (!sent) {
      return give_up(closed());
    }
    left.remove_prefix(*sent);
    if (left.empty()) {
      return {};
    }
    GB_TRY(wait(POLLOUT));
  }
}

Result<Frame> Connection::receive() {
  for (;;) {
    Frame frame;
    if (GB_TRY(take_frame(frame))) {
      return frame;
    }
    if (!GB_TRY(read_some())) {
      GB_TRY(wait(POLLIN));
    }
  }
}

Result<std::optional<Frame>> Connection::poll() {
  Frame frame;
  // Once: a server that sends much and says nothing does not keep us here.
  if (GB_TRY(take_frame(frame)) || (GB_TRY(read_some()) && GB_TRY(take_frame(frame)))) {
    return std::optional(frame);
  }
  return std::optional<Frame>();
}

Result<std::string_view> Connection::expect(Reply last) {
  const Frame frame = GB_TRY(receive());
  if (static_cast<Reply>(frame.type) != last) {
    return give_up({ErrorCode::kUnavailable, "the file server sent an unexpected reply"});
  }
  return frame.payload;
}

Result<UniqueFd> Connection::take_descriptor() {
  if (passed_.size() != 1) {
    return give_up(
        {ErrorCode::kUnavailable, "the file server did not pass exactly one file descriptor"});
  }
  UniqueFd taken = std::move(passed_.front());
  passed_.clear();
  return taken;
}

Result<UniqueFd> Connection::release() {
  if (!parser_.take_rest().empty() || !passed_.empty()) {
    return give_up({ErrorCode::kUnavailable, "the file server sent more than was asked for"});
  }
  broken_ = true;
  return std::move(socket_);
}

Error Connection::give_up(Error error) {
  broken_ = true;
  (void)::shutdown(socket_.get(), SHUT_RDWR);
  return error;
}

// Whether there was a whole frame that somebody waits for.
Result<bool> Connection::take_frame(Frame& frame) {
  if (broken_) {
    return closed();
  }
  for (;;) {
    auto got = parser_.next(frame);
    if (!got) {
      return give_up(std::move(got).error());
    }
    if (!got.value()) {
      return false;
    }
    const auto type = static_cast<Reply>(frame.type);
    if (type == Reply::kFailed) {
      const auto failure = Failure::decode(frame.payload);
      return failure ? Error(failure->code, failure->message) : give_up(failure.error());
    }
    if (type != Reply::kWorking) {
      return true;
    }
    if (Clock::now() - asked_ > kLongest) {
      return give_up({ErrorCode::kUnavailable, "the file server took too long"});
    }
  }
}

// Whether there was anything to read.
Result<bool> Connection::read_some() {
  const ssize_t got =
      sys::receive_with(socket_.get(), {buffer_.get(), kPiece}, passed_, MSG_DONTWAIT);
  if (passed_.size() > 1) {
    return give_up({ErrorCode::kUnavailable, "the file server passed unexpected file descriptors"});
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (got <= 0) {
    return give_up(closed());
  }
  parser_.feed({buffer_.get(), static_cast<std::size_t>(got)});
  return true;
}

Result<void> Connection::wait(short events) {
  const auto deadline = Clock::now() + patience_;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return give_up({ErrorCode::kUnavailable, "the file server does not respond"});
    }
    pollfd polled{socket_.get(), events, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(left));
    if (ready > 0) {
      return {};
    }
    if (ready < 0 && errno != EINTR) {
      return give_up(Error::from_errno("wait for the file server"));
    }
  }
}

}  // namespace glovebox::files
