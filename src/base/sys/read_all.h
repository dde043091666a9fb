// SPDX-License-Identifier: Apache-2.0
// Reading to the end, within a bound.
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace glovebox::sys {

// Everything up to the end of what `fd` reads, waiting for it. Fails as read(2) does, and with
// kInvalid once there is more than `most`. Errors name `subject`, such as "the notebook".
inline Result<std::string> read_all(int fd, Bytes most, std::string_view subject) {
  std::string text;
  std::array<char, 64UL * 1024> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got == 0) {
      return text;
    }
    if (got > 0) {
      text.append(block.data(), static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return Error::from_errno("read " + std::string(subject));
    }
    if (text.size() > most.count) {
      return Error(ErrorCode::kInvalid,
                   std::string(subject) + " is larger than " + to_string(most));
    }
  }
}

}  // namespace glovebox::sys
