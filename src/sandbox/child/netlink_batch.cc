// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/netlink_batch.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/sys/raw.h"

namespace glovebox::child {

using sys::raw;

long open_netlink(int protocol) noexcept {
  return raw(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
}

long tell_kernel(long netlink, const NetlinkBatch& batch) noexcept {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  long result = raw(SYS_sendto, netlink, batch.data(), batch.size(), 0, &kernel, sizeof kernel);
  struct {
    nlmsghdr header;
    nlmsgerr error;
    std::array<std::uint8_t, NetlinkBatch::kRoom> cause;
  } answer;
  if (result >= 0) {
    result = raw(SYS_recvfrom, netlink, &answer, sizeof answer, 0, nullptr, nullptr);
  }
  if (result < 0) {
    return result;
  }
  return answer.header.nlmsg_type == NLMSG_ERROR ? answer.error.error : -EPROTO;
}

}  // namespace glovebox::child
