// SPDX-License-Identifier: Apache-2.0
// Session: one connection of a guest, from its first byte to its record.
#pragma once

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "egress/awaitable.h"
#include "egress/dialing.h"
#include "egress/flow.h"
#include "egress/pipe.h"
#include "egress/proxy.h"
#include "egress/request.h"

namespace glovebox::egress {

// Belongs to the coroutines that work on it. The last of them to end reports the record.
class Session : public std::enable_shared_from_this<Session> {
 public:
  using Clock = std::chrono::steady_clock;
  using Socket = boost::asio::ip::tcp::socket;

  // `aim`: where the guest believes that it has connected to; none if it asks us as a proxy.
  // `refusal`: why it is refused, whatever it wants; empty: it is not.
  Session(Proxy& proxy, Socket guest, std::optional<Place> aim, std::string refusal);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static boost::asio::awaitable<void> run(std::shared_ptr<Session> self);

  // Ends it, whatever it is waiting for.
  void cut();
  // Cancels what has taken too long.
  void look(Clock::time_point now);

  // For what works on the connection in its place (dialing.h, relay.h, inspection.h, answering.h).
  Socket& guest() { return guest_; }
  Socket& server() { return server_; }
  ConnectionRecord& record() { return record_; }
  [[nodiscard]] Surroundings& surroundings() { return proxy_.surroundings(); }
  [[nodiscard]] const Bounds& bounds() const { return proxy_.bounds(); }
  // Allows this much time, from now on, for what the session waits for.
  void give(std::chrono::seconds time) { deadline_ = Clock::now() + time; }
  void moved() { give(bounds().idle); }
  void await_head() { deadline_ = std::min(deadline_, Clock::now() + bounds().for_head); }
  // Connects the server's socket anew, after closing what it was. The error is operation_aborted
  // if there is no answer in time.
  boost::asio::awaitable<boost::system::error_code> connect(
      boost::asio::ip::tcp::endpoint endpoint);
  // What the guest has sent and nobody has processed yet.
  std::string& heard() { return heard_; }
  // Adds what the guest sends next to heard(). False if nothing more comes.
  boost::asio::awaitable<bool> hear();
  [[nodiscard]] bool guest_ended() const { return guest_ended_; }
  // Keeps reading until it is clear whether the guest speaks TLS, and for which host. False if that
  // is not the host of the place; the connection is over then, and the record says why.
  boost::asio::awaitable<bool> hear_client(const Place& place);
  // Counts bytes that passed, and waits as long as the budget's rate demands. False once the
  // sandbox has had too many, which the record then says.
  boost::asio::awaitable<bool> spend(std::size_t sent, std::size_t received);
  // The most bytes to take at a time, so that they stay within the budget and its rate.
  [[nodiscard]] std::uint64_t room(Direction direction) const { return proxy_.room(direction); }
  // Null if the proxy already has as many pipes as it may have.
  std::unique_ptr<Pipe> make_pipe() { return proxy_.make_pipe(); }

 private:
  using Verdict = ConnectionRecord::Verdict;

  boost::asio::awaitable<void> work();
  [[nodiscard]] bool is_blind(const Place& place) const;
  boost::asio::awaitable<void> carry_blindly(Place place);
  boost::asio::awaitable<void> carry_request();
  boost::asio::awaitable<bool> read_head();
  boost::asio::awaitable<bool> connect_out(const Request& request);
  boost::asio::awaitable<void> carry_tunnel(const Place& place);
  boost::asio::awaitable<bool> guest_begins();
  boost::asio::awaitable<void> read_within(const Place& place);
  boost::asio::awaitable<void> refuse(int status, std::string reason);

  Proxy& proxy_;
  Socket guest_;
  Socket server_;
  const std::optional<Place> aim_;
  const std::string over_budget_;
  Clock::time_point deadline_;
  bool dialing_ = false;      // The deadline is that of `server_` alone.
  bool guest_ended_ = false;  // Nothing more comes from it.
  std::string heard_;
  Dialed dialed_;  // To the server, until it is handed on.
  ConnectionRecord record_;
};

// A complete answer of the proxy's own, after which the connection ends.
std::string refusal(int status, std::string_view reason);

}  // namespace glovebox::egress
