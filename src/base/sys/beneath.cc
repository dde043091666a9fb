// SPDX-License-Identifier: Apache-2.0
#include "base/sys/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/sys/raw.h"

namespace glovebox::sys {
namespace {

// The components of a path below a directory, without "." and with ".." taken out; nothing where it
// leads above the directory. "a/.." needs no "a" then: it stays below all the same.
bool components_beneath(std::string_view path, std::vector<std::string>& components) {
  if (path.starts_with('/')) {
    return false;
  }
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (name == ".." && components.empty()) {
      return false;
    }
    if (name == "..") {
      components.pop_back();
    } else if (!name.empty() && name != ".") {
      components.emplace_back(name);
    }
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return true;
}

// What openat2 does, one component after the other, for kernels without it. Each is opened in the
// directory that the one before it was when it was opened, and a link is never followed.
long open_by_steps(int directory_fd, std::string_view path, int flags, std::uint64_t mode) {
  std::vector<std::string> components;
  if (!components_beneath(path, components)) {
    return -EXDEV;
  }
  const bool directory = path.ends_with('/') || components.empty();
  std::string last = ".";
  if (!components.empty()) {
    last = std::move(components.back());
    components.pop_back();
  }
  UniqueFd above;
  for (const std::string& name : components) {
    const long next = raw(SYS_openat, above ? above.get() : directory_fd, name.c_str(),
                          O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (next < 0) {
      return next;
    }
    above = UniqueFd(static_cast<int>(next));
  }
  return raw(SYS_openat, above ? above.get() : directory_fd, last.c_str(),
             flags | (directory ? O_DIRECTORY : 0), mode);
}

}  // namespace

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
  long fd = raw(SYS_openat2, directory_fd, text.c_str(), &how, sizeof how);
  if (fd == -ENOSYS) {
    fd = open_by_steps(directory_fd, path, static_cast<int>(how.flags), how.mode);
  }
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
