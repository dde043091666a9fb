// SPDX-License-Identifier: Apache-2.0
#include "base/sys/descriptors.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace glovebox::sys {
namespace {

struct Ancillary {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxPassed * sizeof(int))> bytes{};
};

}  // namespace

ssize_t send_with(int socket, std::string_view bytes, std::span<const int> passed, int flags) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};  // sendmsg(2) does not write to it.
  Ancillary ancillary;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!passed.empty()) {
    message.msg_control = ancillary.bytes.data();
    message.msg_controllen = CMSG_SPACE(passed.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(passed.size_bytes());
    std::memcpy(CMSG_DATA(header), passed.data(), passed.size_bytes());
  }
  return ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

ssize_t receive_with(int socket, std::span<char> bytes, std::vector<UniqueFd>& passed, int flags) {
  iovec part{bytes.data(), bytes.size()};
  Ancillary ancillary;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.bytes.data();
  message.msg_controllen = ancillary.bytes.size();
  const ssize_t got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    return got;
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t size = header->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
      passed.emplace_back(fd);
    }
  }
  return got;
}

}  // namespace glovebox::sys
