// SPDX-License-Identifier: Apache-2.0
// The network card of a machine whose sandbox has network rules, and the machine's side of it.
//
// At its other end is libslirp, within QEMU: it connects wherever the machine does, from the
// network namespace of the native sandbox that QEMU is the guest of. So what goes through the card
// meets the way out of that sandbox (child/way_out.h), as connections of a native guest do. The
// proxy and the name server there are at 127.0.0.1, and the machine's guests reach them at the same
// address: its kernel routes these two ports to the card, and all other loopback traffic stays
// inside.
#pragma once

#include <array>
#include <cstdint>

#include "base/unique_fd.h"

namespace glovebox::microvm {

// The kernel's drivers, in the order in which they are loaded, below the directory of our programs.
inline constexpr std::array<const char*, 3> kCardDrivers = {
    "/microvm/failover.ko", "/microvm/net_failover.ko", "/microvm/virtio_net.ko"};

// The kernel passes this word of its command line to the first program as a variable: the port of
// the proxy. A machine without it has no card.
inline constexpr const char* kEgressWord = "egress_port";

// The link between the two: 192.0.0.0/29, which is set aside for such links (RFC 7335) and so is
// nobody's destination.
inline constexpr const char* kLinkNetwork = "192.0.0.0/29";
inline constexpr const char* kLinkGateway = "192.0.0.1";
// Addresses that libslirp also wants to have: its own name server's, which nobody is told about,
// and the one that it would lease by DHCP.
inline constexpr const char* kLinkNames = "192.0.0.3";
inline constexpr const char* kLinkLent = "192.0.0.4";

// A socket that can move the card out of the network namespace of the calling process, where the
// card is once its driver is loaded. None, with errno, if that fails.
UniqueFd open_card_mover();

// Moves the card into the calling process's network namespace, and routes to it all TCP over IPv4
// that is not loopback, and the proxy and the name server. Zero or a negative errno.
long take_card(const UniqueFd& mover, std::uint16_t egress_port);

}  // namespace glovebox::microvm
