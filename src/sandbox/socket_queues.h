// SPDX-License-Identifier: Apache-2.0
// What the sockets of network namespaces hold in memory that the kernel charges to nobody.
//
// Three things wait in sockets without a cgroup paying for them, because the kernel allocates them
// outside of the system call that causes them, or without asking for it: replies to AF_NETLINK
// requests that nobody reads, connections that nobody has accepted yet, with the data in them, and
// connections that outlive their descriptor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>

namespace glovebox {

// The bytes that wait in the network namespaces of these processes, according to /proc/PID/net;
// each namespace counts once. A namespace that cannot be read, or that is our own, counts as
// nothing. Stops counting once it has found more than `enough`, or when `late` returns true.
std::uint64_t queued_in_sockets(std::span<const pid_t> pids,
                                std::uint64_t enough,
                                const std::function<bool()>& late);

}  // namespace glovebox
