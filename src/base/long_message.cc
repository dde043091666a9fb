// SPDX-License-Identifier: Apache-2.0
#include "base/long_message.h"

#include <utility>

namespace glovebox {

void append_message(std::string& out,
                    std::uint8_t type,
                    std::uint32_t channel,
                    std::string_view payload) {
  while (payload.size() > kMaxFramePayload) {
    append_frame(out, kPartType, channel, payload.substr(0, kMaxFramePayload));
    payload.remove_prefix(kMaxFramePayload);
  }
  append_frame(out, type, channel, payload);
}

MessageJoiner::Joined MessageJoiner::join(Frame& frame) {
  whole_ = {};
  const bool is_part = frame.type == kPartType;
  if (!is_part && parts_.empty()) {
    return Joined::kWhole;
  }
  if (parts_.size() + frame.payload.size() > most_) {
    return Joined::kTooLong;
  }
  parts_ += frame.payload;
  if (is_part) {
    return Joined::kMore;
  }
  whole_ = std::exchange(parts_, {});
  frame.payload = whole_;
  return Joined::kWhole;
}

std::string MessageJoiner::take(const Frame& frame) {
  return whole_.empty() ? std::string(frame.payload) : std::exchange(whole_, {});
}

}  // namespace glovebox
