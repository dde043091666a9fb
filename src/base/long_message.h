// SPDX-License-Identifier: Apache-2.0
// Messages that are longer than a frame may be: they go as parts, each a frame of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/frame.h"

namespace glovebox {

// The type of every part but the last, which has the message's type.
inline constexpr std::uint8_t kPartType = 127;

// Appends a message of any length to `out`.
void append_message(std::string& out,
                    std::uint8_t type,
                    std::uint32_t channel,
                    std::string_view payload);

// Joins the parts of one message after another.
class MessageJoiner {
 public:
  // `most` bounds a message that came in parts.
  explicit MessageJoiner(std::size_t most) : most_(most) {}

  enum class Joined { kMore, kWhole, kTooLong };
  // Takes the next frame. kWhole: it ends a message, whose payload the frame then has, valid until
  // the next call. kTooLong: nothing that follows has any meaning.
  Joined join(Frame& frame);

  // Takes the payload that the frame of the last kWhole has, without copying what was joined.
  std::string take(const Frame& frame);

 private:
  std::size_t most_;
  std::string parts_;  // Of a message that has not ended yet.
  std::string whole_;
};

}  // namespace glovebox
