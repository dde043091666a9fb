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

// A connection that does not block, after any TLS handshake, which checks the server's certificate
// against its name or address. `authorities` is a PEM file of the authorities to trust; empty: the
// system's. kUnavailable if nobody answers, kRefused if the certificate is not trusted.
Result<std::unique_ptr<Channel>> connect_channel(const ServerAddress& server,
                                                 const std::string& authorities,
                                                 std::chrono::milliseconds patience);

}  // namespace glovebox::http
