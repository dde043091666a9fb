// SPDX-License-Identifier: Apache-2.0
// KeeperWire: one end of a connection between the daemon and its keeper.
//
// Both ends are ours. A connection carries one call at a time: a request, then any number of
// events, then one answer or one error. Each is a message of JSON text or plain bytes, cut into
// frames (base/frame.h) when it is long.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame.h"
#include "base/long_message.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::keeper {

enum class MessageType : std::uint8_t {
  kRequest = 1,       // JSON
  kEvent = 2,         // As the call says.
  kAnswer = 3,        // JSON; a descriptor may come with it.
  kError = 4,         // JSON of an Error, with its code by number.
  kPart = kPartType,  // The beginning of the next message of another type.
};

struct Message {
  MessageType type{};
  std::string text;
};

// What one message may hold: results of a cell with its images.
inline constexpr std::size_t kMaxMessage = 128UL << 20;

// One thread at a time.
class KeeperWire {
 public:
  // Longer than any client may take to read a piece of its answer.
  static constexpr std::chrono::milliseconds kSendPatience{120'000};

  explicit KeeperWire(UniqueFd socket) : socket_(std::move(socket)) {}

  // Waits while the socket is full. Fails with kUnavailable when the other end is gone, or has
  // taken nothing for `patience`: the connection is of no use then.
  Result<void> send(MessageType type,
                    std::string_view text,
                    std::span<const int> passed = {},
                    std::chrono::milliseconds patience = kSendPatience);

  // Queues a message behind all that waits; flush(), or any call that sends, sends it.
  void queue(MessageType type, std::string_view text);
  // Send what can go without waiting, or everything. Fail as send() does.
  Result<void> flush();
  Result<void> flush_all();
  // Bytes that wait to be sent.
  [[nodiscard]] std::size_t unsent() const { return outgoing_.size() - sent_; }

  // The next message; nothing when it did not come in time. Without `patience`, waits as long as
  // the other end lives. Fails with kUnavailable when that is gone.
  Result<std::optional<Message>> receive(std::optional<std::chrono::milliseconds> patience = {});

  // Descriptors that came with messages since the last call.
  std::vector<UniqueFd> take_descriptors() { return std::move(passed_); }

  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  Result<void> send_queued(std::span<const int> passed, std::chrono::milliseconds patience);

  FrameParser parser_;
  std::string outgoing_;
  std::size_t sent_ = 0;  // Of outgoing_.
  MessageJoiner joiner_{kMaxMessage};
  std::vector<UniqueFd> passed_;
};

std::string encode(const Error& error);
Error decode_error(std::string_view text);

}  // namespace glovebox::keeper
