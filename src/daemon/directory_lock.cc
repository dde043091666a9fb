// SPDX-License-Identifier: Apache-2.0
#include "daemon/directory_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>

namespace glovebox {

Result<UniqueFd> lock_directory(const std::string& directory,
                                std::string_view role,
                                std::chrono::milliseconds patience) {
  const std::string path = directory + "/" + std::string(role) + ".lock";
  // A process that waits for another user's process to end may only read the file.
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) {
    file = UniqueFd(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  if (!file) {
    return Error::from_errno("open " + path);
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Error::from_errno("lock " + path);
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error(ErrorCode::kConflict,
                   "another " + std::string(role) + " uses the data directory " + directory,
                   "stop it first, or choose another directory with --data");
    }
    (void)::poll(nullptr, 0, 10);
  }
  return file;
}

}  // namespace glovebox
