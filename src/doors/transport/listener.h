// SPDX-License-Identifier: Apache-2.0
// Sockets that take connections.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::http {

struct Listener {
  UniqueFd fd;  // Does not block.
  bool unix_socket = false;
  std::uint16_t port = 0;
  std::string path;  // Of a Unix socket that we made: removed with us.
  // Connections are not made to it but come over it, as descriptors (embed/handshake.h).
  bool passes = false;
};

struct Address {
  std::string host;  // A name or an address; empty for all of this machine's.
  std::uint16_t port = 0;
};
// "HOST:PORT", "[HOST]:PORT"; kInvalid for anything else. Looks nothing up.
Result<Address> parse_address(const std::string& text);
// kInvalid for a path that is too long for a socket.
Result<void> check_unix_path(const std::string& path);

// Listens at an address that parse_address() takes.
Result<Listener> listen_tcp(const std::string& address);
// Mode 0600 from its first moment on. Replaces a socket that nobody listens on; kConflict when
// somebody does.
Result<Listener> listen_unix(const std::string& path);
// A listening socket that was made for us.
Result<Listener> adopt_listener(UniqueFd fd);

// A socket over which somebody passes us connections.
Result<Listener> adopt_passing_socket(UniqueFd fd);

// The next connection, which does not block, and where it comes from; none with errno as accept4(2)
// sets it, or EPIPE if the process that passes connections has gone.
UniqueFd accept_connection(const Listener& listener, sockaddr_storage& from);

// Whether the other end of a Unix socket is this user's, or root's (unix(7), SO_PEERCRED).
bool is_peer_ours(int fd);

}  // namespace glovebox::http
