// SPDX-License-Identifier: Apache-2.0
// Our end of an agent's socket: messages to it and from it, of any length up to kMaxMessage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/frame.h"
#include "base/long_message.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "context/agent_protocol.h"
#include "context/foreign_descriptors.h"

namespace glovebox {

// Not for use by several threads at once.
class AgentLink {
 public:
  explicit AgentLink(UniqueFd socket) : socket_(std::move(socket)) {}

  // Queues a message, in parts when it is long. Requires: payload.size() <= agent::kMaxMessage.
  void send(agent::Request type, std::uint32_t channel, std::string_view payload);

  // Writes what the socket takes now. Fails with kUnavailable when the agent is gone.
  Result<void> flush();
  [[nodiscard]] std::size_t unsent() const { return outgoing_.size(); }
  [[nodiscard]] bool has_unsent() const { return !outgoing_.empty(); }

  struct Message {
    agent::Reply type{};
    std::uint32_t channel = 0;
    std::string_view payload;  // Valid until the next call.
  };
  // The next message that is here, without waiting. Fails with kUnavailable when the agent is gone
  // and with kInvalid when it speaks nonsense.
  Result<std::optional<Message>> poll_message();

  // Descriptors that came with messages, oldest first, and of any kind. An agent that sends more
  // than a few that nobody takes speaks nonsense.
  ForeignDescriptors take_descriptors() { return std::move(passed_); }

  // Drops what is under way in both directions, for a new process at the other end.
  void start_over();

  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  static constexpr std::size_t kReceiveSize = 256UL * 1024;
  static constexpr std::size_t kMaxKept = 16;

  Result<std::optional<Message>> take_frame();

  UniqueFd socket_;
  FrameParser parser_;
  std::unique_ptr<char[]> received_{new char[kReceiveSize]};
  MessageJoiner joiner_{agent::kMaxMessage};
  ForeignDescriptors passed_;
  std::string outgoing_;
};

}  // namespace glovebox
