// SPDX-License-Identifier: Apache-2.0
// The sockets by which a sandbox with network rules reaches its proxy, made in its own network
// namespace. Between clone and exec: nothing here allocates, locks, or uses thread-local storage.
#pragma once

#include <cstdint>

namespace glovebox::child {

struct WayOut {
  // Listens on `port` of 127.0.0.1, and gets every other TCP connection over IPv4 that leaves
  // 127.0.0.0/8, whatever its address and port: getsockname(2) of what is accepted says where it
  // was to go. Where the kernel lacks what that needs, it gets those to its own address alone. A
  // negative errno where there is none.
  long listener = -1;
  // Gets datagrams for port 53 of 127.0.0.1: questions to a name server. A negative errno where
  // there is none.
  long names = -1;
};

// The calling thread is in the namespace, has all capabilities over it, and lo is up.
WayOut make_way_out(std::uint16_t port) noexcept;

}  // namespace glovebox::child
