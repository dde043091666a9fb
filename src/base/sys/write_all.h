// SPDX-License-Identifier: Apache-2.0
// Writing all of the given bytes, to something that takes them sooner or later.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace glovebox::sys {

// Waits as long as it takes. False on an error, with errno set; some of the bytes may be there
// then.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (put == 0) {
      errno = EIO;  // A device that takes no byte now never will.
      return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace glovebox::sys
