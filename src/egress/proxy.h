// SPDX-License-Identifier: Apache-2.0
// Proxy: accepts the connections of one sandbox, and carries those that the rules allow. Programs
// that know proxies ask it; the connections of others are led to it, and where they were to go is
// the address that they have been accepted at. It also answers questions about names.
//
// One thread: that of the event loop, which must not end before this object.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "egress/awaitable.h"
#include "egress/flow.h"
#include "egress/names.h"
#include "egress/pipe.h"
#include "egress/resolver.h"
#include "egress/route.h"
#include "spec/connection_record.h"
#include "spec/egress_protocol.h"

namespace glovebox::egress {

// What one sandbox may have. A guest can use it all up, and hurts itself alone.
struct Bounds {
  std::size_t sessions = 128;           // At a time; further ones wait to be accepted.
  std::uint64_t connections = 100'000;  // In all.
  std::uint64_t sent = 64ULL << 30;     // Bytes out, in all.
  std::uint64_t received = 64ULL << 30;
  std::size_t head = 64UL * 1024;     // Bytes of a request's head, or of an upstream's answer.
  std::chrono::seconds for_head{30};  // Until a head is whole.
  std::chrono::seconds for_dial{15};  // For each address, and for a lookup or an upstream.
  std::chrono::seconds idle{300};     // Without a byte in either direction.
  std::uint64_t rate = 0;             // Bytes a second in each direction; 0: as fast as it goes.
  std::size_t pipes = 32;             // At a time; what finds none is copied.

  // With what the order allows, where that is less.
  [[nodiscard]] Bounds within(const NetworkBudget& budget) const;
};

class CredentialFiller;
class Playback;
class Tape;
class TlsAuthority;

// What the proxy works with. References stay the caller's.
struct Surroundings {
  boost::asio::io_context& loop;
  const Order& order;
  Resolver& resolver;
  OwnerOf owner_of;
  std::function<void(const ConnectionRecord&)> tell;  // Once for each connection, at its end.
  std::function<bool()> may_accept;                   // False: not now.
  // Null where the sandbox has no secrets, and is not recorded; or has none over TLS.
  const CredentialFiller* filler = nullptr;
  const TlsAuthority* authority = nullptr;
  Tape* tape = nullptr;          // Of a sandbox whose connections are recorded,
  Playback* playback = nullptr;  // or answered from a recording.
  Bounds bounds{};
};

class Session;

class Proxy {
 public:
  // Takes over a listening TCP socket, and one that gets questions about names.
  Proxy(Surroundings surroundings, int listener, int names);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void start();
  // Accepts no more, and cuts what there is. The event loop runs out of work after that.
  void stop();

  // For sessions.
  [[nodiscard]] Surroundings& surroundings() { return surroundings_; }
  [[nodiscard]] const Bounds& bounds() const { return surroundings_.bounds; }
  void enter(Session* session) { sessions_.insert(session); }
  void leave(Session* session, const ConnectionRecord& connection);
  // Counts bytes. Why there are too many, a literal; empty where there are not.
  std::string_view spend(std::uint64_t sent, std::uint64_t received);
  // How many bytes a piece may have, so that it is not far beyond the budget or its rate.
  [[nodiscard]] std::uint64_t room(Direction direction) const;
  std::unique_ptr<Pipe> make_pipe() { return Pipe::make(pipes_, bounds().pipes); }
  // Waits until these bytes, of one direction, are within the rate.
  boost::asio::awaitable<void> pace(std::uint64_t sent, std::uint64_t received);

 private:
  boost::asio::awaitable<void> accept_all();
  boost::asio::awaitable<void> answer_questions();
  boost::asio::awaitable<void> wait(boost::asio::steady_timer& timer,
                                    std::chrono::milliseconds time);
  [[nodiscard]] std::optional<Place> aim_of(const boost::asio::ip::tcp::endpoint& address) const;
  void look();

  Surroundings surroundings_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint own_;  // Where those connect to who know of us.
  boost::asio::ip::udp::socket questions_;
  Names names_;
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer breath_;
  boost::asio::steady_timer clock_;
  std::set<Session*> sessions_;
  std::uint64_t accepted_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  Pipes pipes_;
  // When what has passed so far would be through at the budget's rate.
  std::chrono::steady_clock::time_point sent_until_{};
  std::chrono::steady_clock::time_point received_until_{};
  bool stopped_ = false;
};

}  // namespace glovebox::egress
