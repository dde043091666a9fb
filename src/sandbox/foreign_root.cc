// SPDX-License-Identifier: Apache-2.0
#include "sandbox/foreign_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/sys/beneath.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

constexpr std::array<const char*, 4> kCovered = {"passwd", "group", "hosts", "nsswitch.conf"};

// A directory under that name, in place of anything that is not one.
Result<UniqueFd> make_directory(int parent, const char* name) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    UniqueFd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd) {
      return fd;
    }
    if (errno != ENOENT && ::unlinkat(parent, name, 0) != 0) {
      break;
    }
    if (::mkdirat(parent, name, 0755) != 0) {
      break;
    }
  }
  return Error::from_errno(std::string("create /") + name + " in the template");
}

bool is_file(int directory, const char* name) {
  struct stat status {};
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

Result<void> make_file(int directory, const char* name) {
  if (is_file(directory, name)) {
    return {};
  }
  (void)::unlinkat(directory, name, 0);
  const UniqueFd file(
      ::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  return file ? Result<void>()
              : Error::from_errno(std::string("create /etc/") + name + " in the template");
}

}  // namespace

Result<void> prepare_foreign_root(int root_fd) {
  const UniqueFd etc = GB_TRY(make_directory(root_fd, "etc"));
  for (const char* const name : kCovered) {
    GB_TRY(make_file(etc.get(), name));
  }
  const UniqueFd var = GB_TRY(make_directory(root_fd, "var"));
  // A directory that holds something stays, and can be read.
  (void)::unlinkat(var.get(), "tmp", 0);
  (void)::unlinkat(var.get(), "tmp", AT_REMOVEDIR);
  if (::symlinkat("../tmp", var.get(), "tmp") != 0 && errno != EEXIST) {
    return Error::from_errno("create /var/tmp in the template");
  }
  return {};
}

Result<void> check_foreign_root(int root_fd) {
  const auto etc = sys::open_beneath(root_fd, "etc", O_PATH | O_DIRECTORY);
  for (const char* const name : kCovered) {
    if (!etc || !is_file(etc->get(), name)) {
      return Error(ErrorCode::kInvalid, std::string("the template's root has no file /etc/") + name,
                   "build the template with 'glovebox template build'");
    }
  }
  return {};
}

}  // namespace glovebox
