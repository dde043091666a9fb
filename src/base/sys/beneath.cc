// SPDX-License-Identifier: Apache-2.0
#include "base/sys/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "base/sys/raw.h"

namespace glovebox::sys {

Result<UniqueFd> open_beneath(int directory_fd,
                              std::string_view path,
                              int flags,
                              std::uint32_t mode) {
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return Error(ErrorCode::kInvalid, "empty path, or a NUL byte in the path");
  }
  open_how how{};
  // openat2 refuses flags that O_PATH makes meaningless.
  const int harmless = (flags & O_PATH) != 0 ? 0 : O_NONBLOCK | O_NOCTTY;
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW | harmless);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::string text(path);
  const long fd = raw(SYS_openat2, directory_fd, text.c_str(), &how, sizeof how);
  if (fd < 0) {
    return Error::from_errno("open " + text, static_cast<int>(-fd));
  }
  return UniqueFd(static_cast<int>(fd));
}

Result<void> make_parents_beneath(int directory_fd, std::string_view path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    const std::string_view directory = path.substr(0, slash);
    if (open_beneath(directory_fd, directory, O_PATH | O_DIRECTORY)) {
      continue;
    }
    const std::size_t above = directory.rfind('/');
    const UniqueFd parent = GB_TRY(open_beneath(
        directory_fd, above == std::string_view::npos ? "." : directory.substr(0, above),
        O_PATH | O_DIRECTORY));
    const std::string name(directory.substr(above == std::string_view::npos ? 0 : above + 1));
    if (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
      return Error::from_errno("create directory " + std::string(directory));
    }
    // What exists may be a file or a link.
    (void)GB_TRY(open_beneath(directory_fd, directory, O_PATH | O_DIRECTORY));
  }
  return {};
}

}  // namespace glovebox::sys
