// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/hand_out.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>

#include "base/sys/raw.h"

namespace glovebox::child {

using sys::raw;

long hand_out(long to, std::span<const int> descriptors) noexcept {
  char byte = 'l';
  constexpr std::size_t kMost = 2;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> control{};
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    __builtin_memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  const long sent = raw(SYS_sendmsg, to, &message, MSG_NOSIGNAL);
  for (const int descriptor : descriptors) {
    (void)raw(SYS_close, descriptor);
  }
  (void)raw(SYS_close, to);
  return sent < 0 ? sent : 0;
}

}  // namespace glovebox::child
