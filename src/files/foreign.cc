// SPDX-License-Identifier: Apache-2.0
#include "files/foreign.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <thread>
#include <utility>

namespace glovebox::files {
namespace {

constexpr unsigned long kXfsMagic = 0x58465342;  // Not in linux/magic.h of every distribution.

// memfd_create(2) makes files of tmpfs.
constexpr std::array<unsigned long, 5> kHoldData = {TMPFS_MAGIC, EXT4_SUPER_MAGIC, kXfsMagic,
                                                    BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC};

Error unexpected(const char* what) {
  return {ErrorCode::kRefused, std::string("the file server passed ") + what};
}

void make_closable(int fd) {
  const linger none{};
  if (::setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none) != 0) {
    return;  // Not a socket.
  }
  // Disconnects a TCP socket (connect(2)): its peer may be among those to be closed after it.
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  (void)::connect(fd, &nobody, sizeof nobody);
}

// -1 if there is no such option.
int option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

void close_foreign(std::vector<UniqueFd>& descriptors) {
  if (descriptors.empty()) {
    return;
  }
  try {
    std::thread([closing = std::exchange(descriptors, {})]() mutable {
      for (const UniqueFd& descriptor : closing) {
        make_closable(descriptor.get());
      }
      closing.clear();
    }).detach();
  } catch (const std::system_error&) {
    // No thread to be had: the lambda was destroyed, and closed them here.
  }
}

Result<void> check_file(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY) {
    return unexpected("an unreadable file");
  }
  struct stat status {};
  // Guests mount nothing, so no file system of theirs (FUSE) can keep us waiting for this.
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    return unexpected("something other than a regular file");
  }
  struct statfs system {};
  if (::fstatfs(fd, &system) != 0 ||
      std::ranges::find(kHoldData, static_cast<unsigned long>(system.f_type)) == kHoldData.end()) {
    return unexpected("a file on an unsupported file system");
  }
  return {};
}

Result<void> check_connection(int fd) {
  const int domain = option(fd, SO_DOMAIN);
  if ((domain != AF_INET && domain != AF_INET6) || option(fd, SO_TYPE) != SOCK_STREAM ||
      option(fd, SO_PROTOCOL) != IPPROTO_TCP || option(fd, SO_ACCEPTCONN) != 0) {
    return unexpected("something other than a connection");
  }
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
    return unexpected("a socket without a peer");
  }
  return {};
}

}  // namespace glovebox::files
