// SPDX-License-Identifier: Apache-2.0
#include "base/unique_fd.h"

#include <unistd.h>

#include <cerrno>

namespace glovebox {

void UniqueFd::reset() noexcept {
  if (fd_ < 0) {
    return;
  }
  const int saved_errno = errno;
  // Not retried on EINTR: Linux has freed the number by then, and a second close could hit a
  // descriptor that another thread was given meanwhile.
  (void)::close(std::exchange(fd_, kNone));
  errno = saved_errno;
}

}  // namespace glovebox
