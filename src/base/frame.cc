// SPDX-License-Identifier: Apache-2.0
#include "base/frame.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/wire.h"

namespace glovebox {

void append_frame(std::string& out,
                  std::uint8_t type,
                  std::uint32_t channel,
                  std::string_view payload) {
  GB_CHECK(payload.size() <= kMaxFramePayload);
  WireWriter header;
  header.u32(static_cast<std::uint32_t>(payload.size()));
  header.u8(type);
  header.u32(channel);
  out += header.take();
  out += payload;
}

void FrameParser::feed(std::string_view bytes) {
  // What was handed out by next() is no longer looked at now, so the space can be used again.
  buffer_.erase(0, consumed_);
  consumed_ = 0;
  buffer_ += bytes;
}

std::string FrameParser::take_rest() {
  buffer_.erase(0, consumed_);
  consumed_ = 0;
  return std::exchange(buffer_, {});
}

std::size_t FrameParser::missing() const {
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  const std::size_t whole =
      kFrameHeaderSize + (rest.size() < kFrameHeaderSize ? 0 : WireReader(rest).u32());
  return whole - std::min(whole, rest.size());
}

Result<bool> FrameParser::next(Frame& frame) {
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  if (rest.size() < kFrameHeaderSize) {
    return false;
  }
  WireReader header(rest.substr(0, kFrameHeaderSize));
  const std::uint32_t size = header.u32();
  if (size > kMaxFramePayload) {
    return Error(ErrorCode::kInvalid,
                 "frame of " + std::to_string(size) + " bytes is over the limit");
  }
  if (rest.size() < kFrameHeaderSize + size) {
    return false;
  }
  frame.type = header.u8();
  frame.channel = header.u32();
  frame.payload = rest.substr(kFrameHeaderSize, size);
  consumed_ += kFrameHeaderSize + size;
  return true;
}

}  // namespace glovebox
