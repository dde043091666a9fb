// SPDX-License-Identifier: Apache-2.0
#include "warden/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>

namespace glovebox::warden {
namespace {

// fchmodat2 (Linux 6.6) takes a descriptor that was opened with O_PATH, and so needs no right to
// what it names. Debian 12's headers do not have its number.
constexpr long kFchmodat2 = 452;

// If it is missing, or an engine's filter does not know it, by name: if a guest puts a link in its
// place meanwhile, this changes what the guest could change itself, because we have its rights and
// no others.
bool change_mode(const UniqueFd& path, int directory, const std::string& name, mode_t mode) {
  long result = sys::raw(kFchmodat2, path.get(), "", mode, AT_EMPTY_PATH);
  if (result == -ENOSYS || result == -EPERM) {
    result = sys::raw(SYS_fchmodat, directory, name.c_str(), mode);
  }
  if (result < 0) {
    errno = EACCES;  // The error is that it could not be read, not that this did not help.
  }
  return result == 0;
}

std::int64_t now_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

}  // namespace

UniqueFd open_anyway(int directory, const std::string& name, int flags) {
  const int all = flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  UniqueFd fd(::openat(directory, name.c_str(), all));
  if (fd || errno != EACCES) {
    return fd;
  }
  const UniqueFd path(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!path || ::fstat(path.get(), &status) != 0) {
    return fd;
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    errno = EACCES;
    return fd;
  }
  if (change_mode(path, directory, name, (status.st_mode & 07777U) | 0700U)) {
    fd = UniqueFd(::openat(directory, name.c_str(), all));
    const int error = errno;
    (void)change_mode(path, directory, name, status.st_mode & 07777U);
    errno = error;
  }
  return fd;
}

UniqueFd open_directory(int parent, const std::string& name, mode_t need, struct stat& status) {
  UniqueFd fd = open_anyway(parent, name, O_RDONLY | O_DIRECTORY);
  if (!fd) {
    return fd;
  }
  if (::fstat(fd.get(), &status) != 0 ||
      ((status.st_mode & need) != need && ::fchmod(fd.get(), (status.st_mode & 07777U) | need))) {
    fd.reset();
  }
  return fd;
}

Deadline::Deadline(std::int64_t from_now_ns) : at_ns_(now_ns() + from_now_ns) {}

bool Deadline::passed() const { return now_ns() > at_ns_; }

}  // namespace glovebox::warden
