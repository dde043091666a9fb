// SPDX-License-Identifier: Apache-2.0
// Frames: the units in which glovebox, a warden and (later) an agent speak over one stream socket.
//
// A frame is a header of nine bytes (payload size u32, type u8, channel u32, little-endian) and its
// payload. The channel tells the processes of one sandbox apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// Larger payloads are split by the sender and refused by the receiver, so that no peer can make
// the other one hold more than this.
inline constexpr std::size_t kMaxFramePayload = 1U << 20;
inline constexpr std::size_t kFrameHeaderSize = 9;

struct Frame {
  std::uint8_t type = 0;
  std::uint32_t channel = 0;
  std::string_view payload;  // Valid until the next call of the parser that gave it.
};

// Appends one frame to `out`. Requires: payload.size() <= kMaxFramePayload.
void append_frame(std::string& out,
                  std::uint8_t type,
                  std::uint32_t channel,
                  std::string_view payload);

// Cuts a byte stream into frames. Holds at most one frame and what was fed beyond it.
class FrameParser {
 public:
  // Adds bytes as they came from the socket.
  void feed(std::string_view bytes);

  // Takes the next whole frame into `frame` and answers true; false when more bytes are needed.
  // Fails with kInvalid when the stream announces a payload over the limit; the stream is then
  // without meaning and must be closed.
  Result<bool> next(Frame& frame);

  // How many bytes the next frame lacks, as far as is known; for a caller that must not read beyond
  // it.
  [[nodiscard]] std::size_t missing() const;

  // Takes the bytes that were fed and are in no frame yet.
  std::string take_rest();

 private:
  std::string buffer_;
  std::size_t consumed_ = 0;
};

}  // namespace glovebox
