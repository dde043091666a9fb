// SPDX-License-Identifier: Apache-2.0
// Outside: descriptor 3, on which frames come from glovebox and go to it (agents/README.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "json_guard.h"

namespace glovebox::jupyter {

enum class FrameType : std::uint8_t {
  kExecute = 1,
  kInput = 2,
  kComplete = 3,
  kInspect = 4,
  kIsComplete = 5,
  kCheckpoint = 6,
  kFetch = 7,
  kVariables = 8,
  kEnd = 9,
  kReady = 64,
  kStarted = 65,
  kStdout = 66,
  kStderr = 67,
  kDisplay = 68,
  kResult = 69,
  kError = 70,
  kInputRequest = 71,
  kClear = 72,
  kDone = 73,
  kReply = 74,
  kNote = 75,
  kPart = 127,
};

// Of one message, joined from its parts.
inline constexpr std::size_t kMaxJoined = 64U << 20;

struct Request {
  FrameType type = FrameType::kEnd;
  std::uint32_t channel = 0;
  std::string payload;
};

class Outside {
 public:
  // Takes the socket, and makes it close-on-exec and non-blocking.
  static Result<Outside> open(UniqueFd socket);

  [[nodiscard]] int fd() const { return socket_.get(); }

  // Appends the requests that have arrived to `requests`; false at the end of the stream. Fails if
  // the stream makes no sense.
  Result<bool> receive(std::vector<Request>& requests);

  // Queues a message, in parts if it is long. One over kMaxJoined becomes a note.
  void send(FrameType type, std::uint32_t channel, const Json& payload);
  void send_bytes(FrameType type, std::uint32_t channel, std::string_view bytes);
  void note(std::uint32_t channel, std::string_view text);

  // Writes what the socket takes now. Fails when the other end is gone.
  Result<void> flush();

  // Waits at most as long as `milliseconds` for the other end to take all that is queued.
  void drain(int milliseconds);

  [[nodiscard]] std::size_t queued() const { return out_.size() - written_; }

 private:
  explicit Outside(UniqueFd socket) : socket_(std::move(socket)) {}

  UniqueFd socket_;
  FrameParser parser_;
  std::map<std::uint32_t, std::string> parts_;  // By channel.
  std::size_t parts_size_ = 0;
  std::string out_;
  std::size_t written_ = 0;
};

}  // namespace glovebox::jupyter
