// SPDX-License-Identifier: Apache-2.0
// Reads an exact number of bytes, on both sides of a machine's ports, and tells whether all that
// was written has been read.
#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace glovebox::microvm {

// Waits as long as it takes. False at the end, and on an error.
inline bool read_exactly(int fd, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, to, size);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return false;
    }
    to += std::max<ssize_t>(got, 0);
    size -= static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  return true;
}

// Whether the other end of a socket has taken all that was written to it.
inline bool is_heard(int socket) {
  int waiting = 0;
  return ::ioctl(socket, SIOCOUTQ, &waiting) == 0 && waiting == 0;
}

}  // namespace glovebox::microvm
