// SPDX-License-Identifier: Apache-2.0
// Passes on what the warden is told first, before the rest (protocol.h).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/frame.h"
#include "base/sys/write_all.h"

namespace glovebox::microvm {

// Passes one frame, and no byte of what follows it. Waits as long as it takes. False if none comes.
inline bool pass_frame(int from, int to) {
  FrameParser parser;
  Frame frame;
  std::array<char, 4096> bytes;
  for (;;) {
    const auto whole = parser.next(frame);
    if (!whole || *whole) {
      return whole.has_value();
    }
    const ssize_t got = ::read(from, bytes.data(), std::min(parser.missing(), bytes.size()));
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return false;
    }
    const std::string_view read(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (!sys::write_all(to, read)) {
      return false;
    }
    parser.feed(read);
  }
}

}  // namespace glovebox::microvm
