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
#include <vector>

#include "egress/awaitable.h"
#include "egress/flow.h"
#include "egress/pipe.h"
#include "egress/proxy.h"
#include "egress/request.h"
#include "egress/taping.h"

namespace glovebox::egress {

// Belongs to the coroutines that work on it. The last of them that ends tells the record.
class Session : public std::enable_shared_from_this<Session> {
 public:
  using Clock = std::chrono::steady_clock;
  using Socket = boost::asio::ip::tcp::socket;

  // `aim`: where the guest believes that it has connected to; none where it asks us as a proxy.
  // `refusal`: why it is refused, whatever it wants; empty: it is not.
  Session(Proxy& proxy, Socket guest, std::optional<Place> aim, std::string refusal);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static boost::asio::awaitable<void> run(std::shared_ptr<Session> self);

  // Ends it, whatever it is waiting for.
  void cut();
  // Gives up what has taken too long.
  void look(Clock::time_point now);

  // For what works on the connection in its place (egress/inspection.h).
  Socket& guest() { return guest_; }
  Socket& server() { return server_; }
  ConnectionRecord& record() { return record_; }
  [[nodiscard]] std::size_t most_head() const { return proxy_.bounds().head; }
  void moved() { deadline_ = Clock::now() + proxy_.bounds().idle; }
  void await_head() { deadline_ = std::min(deadline_, Clock::now() + proxy_.bounds().for_head); }
  // Counts bytes that passed, and waits as long as the budget's rate demands. False once the
  // sandbox has had too many, which the record then says.
  boost::asio::awaitable<bool> spend(std::size_t sent, std::size_t received);
  // The most bytes to take at a time, so that they stay within the budget and its rate.
  [[nodiscard]] std::uint64_t room(Direction direction) const { return proxy_.room(direction); }
  // Null where the proxy has as many pipes as it may have.
  std::unique_ptr<Pipe> make_pipe() { return proxy_.make_pipe(); }

 private:
  using Verdict = ConnectionRecord::Verdict;

  boost::asio::awaitable<void> work();
  boost::asio::awaitable<void> carry_blindly(Place place);
  boost::asio::awaitable<void> carry_request();
  void name_refusal();
  boost::asio::awaitable<bool> read_head();
  boost::asio::awaitable<bool> connect_out(const Request& request);
  boost::asio::awaitable<bool> connect_direct(const Place& place);
  boost::asio::awaitable<bool> connect_upstream(const Request& request);
  boost::asio::awaitable<std::vector<IpAddress>> look_up(std::string name);
  boost::asio::awaitable<bool> dial(IpAddress address, std::uint16_t port);
  boost::asio::awaitable<bool> open_tunnel(const Place& place);
  boost::asio::awaitable<void> forward(const Request& request);
  boost::asio::awaitable<void> tunnel(const Place& place);
  bool connect_recorded(const Place& place);
  std::function<void(std::span<char>)> taping();
  boost::asio::awaitable<void> replay(const Place& place);
  boost::asio::awaitable<bool> guest_begins();
  boost::asio::awaitable<void> inspect(const Place& place);
  [[nodiscard]] bool is_blind(const Place& place) const;
  boost::asio::awaitable<bool> hear_client(const Place& place);
  boost::asio::awaitable<bool> send_out(std::string bytes);
  boost::asio::awaitable<bool> take_in(std::string& bytes, std::size_t most);
  boost::asio::awaitable<void> refuse(int status, std::string reason);
  static boost::asio::awaitable<void> bring_in(std::shared_ptr<Session> self);

  Proxy& proxy_;
  Socket guest_;
  Socket server_;
  const std::optional<Place> aim_;
  const std::string over_budget_;
  Clock::time_point deadline_;
  bool dialing_ = false;      // The deadline is that of `server_` alone.
  bool guest_ended_ = false;  // Nothing more comes of it.
  std::string in_;            // Of the guest, and not worked on yet.
  std::string early_;         // Of the server, behind the head of an upstream's answer.
  const Upstream* upstream_ = nullptr;
  int refusal_ = 502;                     // What the guest is told when there is no connection out.
  std::optional<Place> hiding_;           // Answers of this place over plain HTTP hide its secrets.
  std::unique_ptr<TapedExchange> taped_;  // Where it is recorded.
  ConnectionRecord record_;
};

// A whole answer of ours, after which the connection ends.
std::string refusal(int status, std::string_view reason);

}  // namespace glovebox::egress
