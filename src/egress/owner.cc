// SPDX-License-Identifier: Apache-2.0
#include "egress/owner.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "base/unique_fd.h"

namespace glovebox::egress {

// A packet to one of this machine's addresses would come from that very address. The kernel tells
// the source address when a datagram socket is connected, which sends nothing.
AddressOwner owner_of(const IpAddress& address) {
  constexpr in_port_t kAnyPort = 9;
  sockaddr_storage target{};
  socklen_t size = 0;
  const void* bytes = nullptr;
  sockaddr_storage source{};
  if (address.v4) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(target);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(kAnyPort);
    std::memcpy(&v4.sin_addr, address.bytes.data(), 4);
    size = sizeof v4;
    bytes = &reinterpret_cast<const sockaddr_in&>(source).sin_addr;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(target);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(kAnyPort);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    size = sizeof v6;
    bytes = &reinterpret_cast<const sockaddr_in6&>(source).sin6_addr;
  }
  const UniqueFd socket(::socket(target.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  socklen_t length = sizeof source;
  const bool ours =
      socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), size) == 0 &&
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&source), &length) == 0 &&
      std::memcmp(bytes, address.bytes.data(), address.width() / 8) == 0;
  return ours ? AddressOwner::kThisHost : AddressOwner::kOther;
}

}  // namespace glovebox::egress
