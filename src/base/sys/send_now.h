// SPDX-License-Identifier: Apache-2.0
// Sending over a socket whose other end may be slow, dead or hostile.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "base/sys/descriptors.h"

namespace glovebox::sys {

// Sends as many of `bytes` as the stream socket takes without waiting, and the descriptors with the
// first of them. Returns how many went, or nothing if the other end is gone: errno says why.
inline std::optional<std::size_t> send_now(int socket,
                                           std::string_view bytes,
                                           std::span<const int> passed = {}) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const std::string_view left = bytes.substr(sent);
    const ssize_t put = sent == 0 && !passed.empty()
                            ? send_with(socket, left, passed, MSG_DONTWAIT)
                            : ::send(socket, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) {
      sent += static_cast<std::size_t>(put);
    } else if (put < 0 && errno == EAGAIN) {
      break;
    } else if (put == 0 || errno != EINTR) {
      return std::nullopt;
    }
  }
  return sent;
}

}  // namespace glovebox::sys
