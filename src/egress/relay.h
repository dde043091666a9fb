// SPDX-License-Identifier: Apache-2.0
// Relay: a connection to a server whose bytes are passed on as they come: those of a tunnel, or of
// one plain HTTP request and its answer. An Inspection is for what is read within TLS.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "egress/awaitable.h"
#include "egress/dialing.h"
#include "egress/flow.h"
#include "egress/request.h"
#include "egress/session.h"
#include "egress/taping.h"

namespace glovebox::egress {

// Belongs to the coroutines that work on it. One thread: that of the event loop.
class Relay : public std::enable_shared_from_this<Relay> {
 public:
  // The session's sockets are connected.
  Relay(std::shared_ptr<Session> session, Dialed way, Place place);

  // Both carry the connection until it ends.
  static boost::asio::awaitable<void> tunnel(std::shared_ptr<Relay> self);
  // `asked` is the head before secrets were filled into it. Nothing that the guest sends after its
  // request is passed on.
  static boost::asio::awaitable<void> forward(std::shared_ptr<Relay> self,
                                              Request request,
                                              http::Head asked);

 private:
  boost::asio::awaitable<bool> send_body(const Request& request, http::BodyDecoder& body);
  boost::asio::awaitable<bool> send_out(std::string bytes);
  static boost::asio::awaitable<void> bring_in(std::shared_ptr<Relay> self);
  Flow going_out(std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  Flow coming_in();

  const std::shared_ptr<Session> session_;
  const Dialed dialed_;
  const Place place_;
  bool hides_ = false;                    // Secrets are hidden in the answer.
  std::unique_ptr<TapedExchange> taped_;  // If it is recorded.
};

}  // namespace glovebox::egress
