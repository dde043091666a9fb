// SPDX-License-Identifier: Apache-2.0
// What the library and the engine that it starts (`glovebox serve --for-host-program`) say to each
// other, apart from HTTP.
//
// They share a pair of sockets of packets. The engine sends one packet, when it serves or when it
// cannot; from then on the library sends one for each connection: a byte, with one end of a pair of
// stream sockets. When either side closes the pair, or ends, the other one knows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::embed {

// What the engine finds as its descriptors, after the three usual ones.
constexpr int kSocket = 3;
constexpr int kHostProcess = 4;  // A pidfd of the program that it serves.

// The longest packet in either direction.
constexpr std::size_t kLongestPacket = 16 * 1024;

// The engine's packet: nothing is wrong, or what is.
std::string outcome_packet(const std::optional<Error>& failure);
// What it says; kInternal for anything that is not such a packet.
Result<void> read_outcome(std::string_view packet);

// Sends a packet with a descriptor, or without one if that is negative. Never raises SIGPIPE.
Result<void> send_packet(int socket, std::string_view packet, int descriptor);

struct Packet {
  std::string text;
  UniqueFd descriptor;  // Closed on exec. Of more than one, the others are closed.
};
// The next packet. kUnavailable when the other side has closed its end. With errno as os_error()
// where the call fails: EAGAIN when a socket that does not block has none.
Result<Packet> receive_packet(int socket);

}  // namespace glovebox::embed
