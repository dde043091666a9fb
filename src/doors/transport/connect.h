// SPDX-License-Identifier: Apache-2.0
// Where a server is, and a connection to it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/transport/channel.h"

namespace glovebox::http {

struct ServerAddress {
  enum class Kind { kUnix, kTcp, kTls };
  Kind kind = Kind::kTcp;
  std::string host{};  // Without the brackets of IPv6.
  std::string port{};
  std::string path{};  // Of a Unix socket.

  // As the header Host has it.
  [[nodiscard]] std::string authority() const;
};

// Reads "http://HOST[:PORT]", "https://HOST[:PORT]" or "unix:PATH"; a slash may follow a host.
Result<ServerAddress> parse_server_address(std::string_view url);

// A connection that does not block, after the handshake of TLS. There the server's certificate is
// checked against its name or address; `authorities` is a PEM file of whom to trust, empty: those
// of the system. kUnavailable where nobody answers, kRefused where the certificate is not trusted.
Result<std::unique_ptr<Channel>> connect_channel(const ServerAddress& server,
                                                 const std::string& authorities,
                                                 std::chrono::milliseconds patience);

}  // namespace glovebox::http
