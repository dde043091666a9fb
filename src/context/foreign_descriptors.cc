// SPDX-License-Identifier: Apache-2.0
#include "context/foreign_descriptors.h"

#include <sys/socket.h>

#include <system_error>
#include <thread>

#include "base/sys/descriptors.h"

namespace glovebox {
namespace {

// Takes the reason to wait away from a socket. The guest may set it again through a copy: all that
// it can hold up then is a thread that does nothing else.
void make_closable(int fd) {
  const linger none{};
  if (::setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none) != 0) {
    return;  // No socket.
  }
  // Disconnects a TCP socket (connect(2)): its peer may be among those to be closed after it.
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  (void)::connect(fd, &nobody, sizeof nobody);
}

}  // namespace

ssize_t ForeignDescriptors::receive(int socket, std::span<char> bytes, int flags) {
  return sys::receive_with(socket, bytes, descriptors_, flags);
}

void ForeignDescriptors::close() {
  if (descriptors_.empty()) {
    return;
  }
  try {
    std::thread([descriptors = std::exchange(descriptors_, {})]() mutable {
      for (const UniqueFd& descriptor : descriptors) {
        make_closable(descriptor.get());
      }
      descriptors.clear();
    }).detach();
  } catch (const std::system_error&) {
    // No thread to be had: the lambda was destroyed, and closed them here.
  }
}

}  // namespace glovebox
