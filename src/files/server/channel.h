// SPDX-License-Identifier: Apache-2.0
// The server's end of its connection. Blocking: the client is ours, and there is only one.
#pragma once

#include <string>
#include <string_view>

#include "base/frame.h"
#include "base/result.h"
#include "files/protocol.h"

namespace glovebox::files {

class Channel {
 public:
  // `socket` stays open as long as this lives.
  explicit Channel(int socket);

  [[nodiscard]] int fd() const { return socket_; }

  // The next frame, whose payload is valid until the next call. Fails when the client is gone.
  Result<Frame> receive();

  // As receive(), but false while there is no whole frame and nothing to read.
  Result<bool> poll(Frame& frame);

  // Whether the client has gone; what it sent before may still be unread.
  [[nodiscard]] bool is_gone() const;

  // With a descriptor, unless it is negative. Fails when the client is gone.
  Result<void> send(Reply type, std::string_view payload, int descriptor = -1);

  // The bytes that came after the last frame that was received.
  std::string take_rest() { return parser_.take_rest(); }

  // Sends kWorking, but no more often than the client's patience requires.
  void tell_progress();

 private:
  int socket_;
  FrameParser parser_;
  std::string buffer_;
  std::string out_;
  std::int64_t told_ms_ = 0;
};

// The error if a client has gone: there is nobody left to tell.
Error gone();

}  // namespace glovebox::files
