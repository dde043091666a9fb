// SPDX-License-Identifier: Apache-2.0
#include "sandbox/runtime_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace glovebox {

std::string runtime_directory() {
  if (::geteuid() == 0) {
    return "/run/glovebox";
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const xdg = std::getenv("XDG_RUNTIME_DIR");
  if (xdg != nullptr && *xdg == '/') {
    return std::string(xdg) + "/glovebox";
  }
  return "/tmp/glovebox-" + std::to_string(::geteuid());
}

Result<UniqueFd> open_runtime_directory() {
  const std::string path = runtime_directory();
  for (int attempt = 0; attempt < 2; ++attempt) {
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory) {
      struct stat status {};
      if (::fstat(directory.get(), &status) != 0) {
        return Error::from_errno("stat " + path);
      }
      if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
        return Error(ErrorCode::kUnavailable, path + " is not ours alone",
                     "remove it, or set XDG_RUNTIME_DIR to a directory of mode 0700");
      }
      return directory;
    }
    if (errno != ENOENT || (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)) {
      return Error::from_errno("make " + path)
          .with_hint(
              "glovebox keeps track of its sandboxes there; make it writable, or set "
              "XDG_RUNTIME_DIR");
    }
  }
  return Error(ErrorCode::kUnavailable, "no directory at " + path);
}

}  // namespace glovebox
