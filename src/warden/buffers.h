// SPDX-License-Identifier: Apache-2.0
// What the warden reads into, and what it has to send.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/frame.h"
#include "spec/warden_protocol.h"

namespace glovebox::warden {

// For one read at a time. Not on the stack: a page of it that nothing is read into is never
// touched.
inline std::array<char, 64UL * 1024> read_buffer;

// Frames for the outside, in the order in which they are sent.
class Outgoing {
 public:
  void add(Reply type, std::uint32_t channel, std::string_view payload) {
    append_frame(bytes_, static_cast<std::uint8_t>(type), channel, payload);
  }

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  // False: pipes are left unread, and their writers wait.
  [[nodiscard]] bool has_room() const { return bytes_.size() < kBound; }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // The first `sent` bytes have been sent.
  void drop(std::size_t sent) { bytes_.erase(0, sent); }

 private:
  static constexpr std::size_t kBound = 512UL * 1024;

  std::string bytes_;
};

}  // namespace glovebox::warden
