// SPDX-License-Identifier: Apache-2.0
#include "context/agent_link.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/sys/send_now.h"

namespace glovebox {
namespace {

Error gone() { return {ErrorCode::kUnavailable, "the interpreter has ended"}; }

}  // namespace

void AgentLink::send(agent::Request type, std::uint32_t channel, std::string_view payload) {
  append_message(outgoing_, static_cast<std::uint8_t>(type), channel, payload);
}

Result<void> AgentLink::flush() {
  const auto sent = sys::send_now(socket_.get(), outgoing_);
  if (!sent) {
    outgoing_.clear();
    return gone();
  }
  outgoing_.erase(0, *sent);
  return {};
}

void AgentLink::start_over() {
  while (passed_.receive(socket_.get(), {received_.get(), kReceiveSize}, MSG_DONTWAIT) > 0) {
    passed_.close();
  }
  parser_ = {};
  joiner_ = MessageJoiner(agent::kMaxMessage);
  outgoing_.clear();
}

Result<std::optional<AgentLink::Message>> AgentLink::take_frame() {
  for (;;) {
    Frame frame;
    if (!GB_TRY(parser_.next(frame))) {
      return std::optional<Message>();
    }
    switch (joiner_.join(frame)) {
      case MessageJoiner::Joined::kMore:
        break;
      case MessageJoiner::Joined::kWhole:
        return std::optional(
            Message{static_cast<agent::Reply>(frame.type), frame.channel, frame.payload});
      case MessageJoiner::Joined::kTooLong:
        return Error(ErrorCode::kInvalid, "the agent sent a message larger than 64 MiB");
    }
  }
}

Result<std::optional<AgentLink::Message>> AgentLink::poll_message() {
  if (auto message = GB_TRY(take_frame()); message) {
    return message;
  }
  const ssize_t got = passed_.receive(socket_.get(), {received_.get(), kReceiveSize}, MSG_DONTWAIT);
  if (passed_.size() > kMaxKept) {
    passed_.close();
    return Error(ErrorCode::kInvalid, "the agent sent unexpected file descriptors");
  }
  if (got == 0 || (got < 0 && errno == ECONNRESET)) {
    return gone();
  }
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) {
      return std::optional<Message>();
    }
    return Error::from_errno("receive from the agent");
  }
  parser_.feed({received_.get(), static_cast<std::size_t>(got)});
  return take_frame();
}

}  // namespace glovebox
