// SPDX-License-Identifier: Apache-2.0
// The sockets by which a sandbox with network rules reaches its proxy, made in its own network
// namespace. Between clone and exec: nothing here allocates, locks, or uses thread-local storage.
#pragma once

#include <cstdint>

namespace glovebox::child {

struct WayOut {
  // Listens on `port` of 127.0.0.1, and also gets every TCP connection over IPv4 that leaves
  // 127.0.0.0/8, whatever its address and port: getsockname(2) of an accepted connection says where
  // it was meant to go. If the kernel lacks what that needs, it gets only those to its own address.
  // A negative errno if there is none.
  long listener = -1;
  // Gets datagrams for port 53 of 127.0.0.1: questions to a name server. A negative errno if
  // there is none.
  long names = -1;
};

// The calling thread is in the namespace, has all capabilities over it, and lo is up.
WayOut make_way_out(std::uint16_t port) noexcept;

// Raises lo in the calling thread's namespace, over which it has all capabilities. Returns a socket
// of that namespace, or a negative errno.
long raise_loopback() noexcept;

// Hands both out, the listener first, and closes them and `to`. They stay in the namespace that
// they were made in, whoever has them (network_namespaces(7)). Returns zero or a negative errno.
long hand_out(const WayOut& out, int to) noexcept;

// All of it, for a namespace that already exists: raises lo, makes the way out, and hands it out.
long provide_way_out(std::uint16_t port, int to) noexcept;

}  // namespace glovebox::child
