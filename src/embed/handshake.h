// SPDX-License-Identifier: Apache-2.0
// What the library and the engine that it starts (`glovebox serve --for-host-program`) say to each
// other, apart from HTTP.
//
// They share a pair of packet sockets. The engine sends one packet, once it serves or finds that it
// cannot; from then on the library sends one for each connection: a byte, with one end of a pair of
// stream sockets. When either side closes its socket, or ends, the other one notices.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::embed {

// The descriptors that the engine is started with, after the three usual ones.
constexpr int kSocket = 3;
constexpr int kHostProcess = 4;  // A pidfd of the program that it serves.

// The longest packet in either direction.
constexpr std::size_t kLongestPacket = 16 * 1024;

// The engine's packet: it says that nothing is wrong, or what is.
std::string outcome_packet(const std::optional<Error>& failure);
// Reads that packet; kInternal for anything else.
Result<void> read_outcome(std::string_view packet);

// Sends a packet with a descriptor, or without one if that is negative. Never raises SIGPIPE.
Result<void> send_packet(int socket, std::string_view packet, int descriptor);

struct Packet {
  std::string text;
  UniqueFd descriptor;  // Closed on exec. Of more than one, the others are closed.
};
// The next packet. kUnavailable if the other side has closed its end. If the call fails, the error
// has errno as os_error(): EAGAIN if a non-blocking socket has no packet.
Result<Packet> receive_packet(int socket);

}  // namespace glovebox::embed
