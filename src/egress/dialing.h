// SPDX-License-Identifier: Apache-2.0
// Dialing: connects a session to the server that its guest has asked for, either directly, at an
// address that the rules allow, or through the proxy that the host itself is behind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "egress/awaitable.h"
#include "egress/request.h"
#include "egress/route.h"
#include "spec/ip_address.h"

namespace glovebox::egress {

class Session;

// The outcome of an attempt to connect.
struct Dialed {
  bool open = false;                   // Else the session's record says why not,
  int refusal = 502;                   // and the guest is told with this status.
  const Upstream* upstream = nullptr;  // The host's proxy, if the connection goes through it.
  std::string early{};                 // What the server has said already.
};

// Belongs to the coroutine of the session, and the session outlives it. One thread: that of the
// event loop.
class Dialing {
 public:
  explicit Dialing(Session& session) : session_(session) {}

  // Connects the session's socket for the server, by a route that is not denied, and fills in the
  // session's record.
  boost::asio::awaitable<Dialed> connect(const Request& request, const Route& route);

 private:
  boost::asio::awaitable<void> connect_direct(const Place& place);
  boost::asio::awaitable<void> connect_upstream(const Request& request);
  boost::asio::awaitable<std::vector<IpAddress>> look_up(std::string name);
  boost::asio::awaitable<bool> dial_any(const std::vector<IpAddress>& addresses,
                                        std::uint16_t port);
  boost::asio::awaitable<bool> dial(IpAddress address, std::uint16_t port);
  boost::asio::awaitable<void> open_tunnel(const Place& place);

  Session& session_;
  Dialed dialed_;
};

}  // namespace glovebox::egress
