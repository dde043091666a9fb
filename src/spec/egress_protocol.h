// SPDX-License-Identifier: Apache-2.0
// What glovebox and glovebox-egress say to each other, over one stream socket (base/frame.h).
//
// glovebox sends one kOrder and, when the sandbox is gone, shuts down its end. The proxy sends one
// kReady when it accepts connections, then a kConnection for each that has ended, and closes its
// end after the last. Each side takes what the other one says as hostile: the proxy could have been
// taken over by a server that it talked to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/connection_record.h"
#include "spec/ip_address.h"
#include "spec/network_rules.h"

namespace glovebox::egress {

enum class Message : std::uint8_t { kOrder = 1, kReady = 2, kConnection = 3 };

// Where the proxy listens inside the sandbox: on 127.0.0.1.
inline constexpr std::uint16_t kPort = 3128;

struct Endpoint {
  IpAddress address{};
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// A proxy that the host itself is behind. It speaks plain HTTP.
struct Upstream {
  std::string host;  // A name or an address.
  std::uint16_t port = 0;
  std::string credentials;  // Base64 of USER:PASSWORD (RFC 7617), or empty.
  friend bool operator==(const Upstream&, const Upstream&) = default;
};

struct Order {
  NetworkRules rules{};
  // Which name servers to ask; none: no name has an address. At most kMaxNameServers.
  std::vector<Endpoint> name_servers{};
  std::optional<Upstream> http_upstream{};   // For requests to http:// URLs.
  std::optional<Upstream> https_upstream{};  // For CONNECT.
  std::vector<NetworkRule> without_upstream{};
  // Nothing but public addresses that are not this machine's, whatever the rules say, and no proxy
  // of the host, which would look names up unseen.
  bool public_only = false;
  // As root: the user and group that the proxy becomes. Zero: it stays who it is.
  std::uint32_t identity = 0;

  static constexpr std::size_t kMaxNameServers = 8;

  // Requires: it fits a frame, as what parsed rules are made of does.
  [[nodiscard]] std::string encode() const;
  static Result<Order> decode(std::string_view payload);

  friend bool operator==(const Order&, const Order&) = default;
};

[[nodiscard]] std::string encode(const ConnectionRecord& connection);
// Texts that are longer than any of ours are cut.
Result<ConnectionRecord> decode_connection(std::string_view payload);

}  // namespace glovebox::egress
