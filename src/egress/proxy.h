// SPDX-License-Identifier: Apache-2.0
// Proxy: accepts the connections of one sandbox, and carries those that the rules allow. Programs
// that know proxies ask it; the connections of others are redirected to it, and the address at
// which such a connection is accepted is its destination. It also answers questions about names.
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

// What one sandbox may have. A guest that uses it all up hurts only itself.
struct Bounds {
  std::size_t sessions = 128;           // At a time; further ones wait to be accepted.
  std::uint64_t connections = 100'000;  // In total.
  std::uint64_t sent = 64ULL << 30;     // Bytes out, in total.
  std::uint64_t received = 64ULL << 30;
  std::size_t head = 64UL * 1024;     // Bytes of a request's head, or of an upstream's answer.
  std::chrono::seconds for_head{30};  // Until a head is whole.
  std::chrono::seconds for_dial{15};  // For each address, and for a lookup or an upstream.
  std::chrono::seconds idle{300};     // Without a byte in either direction.
  std::uint64_t rate = 0;             // Bytes a second in each direction; 0: as fast as it goes.
  std::size_t pipes = 32;             // At a time; a flow that gets none is copied.

  // The lower of each bound and what the order allows.
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
  // `filler` is null if the order has no credentials, and `authority` if they have no key for TLS.
  const CredentialFiller* filler = nullptr;
  const TlsAuthority* authority = nullptr;
  Tape* tape = nullptr;          // If the sandbox's connections are recorded,
  Playback* playback = nullptr;  // or if they are answered from a recording.
  Bounds bounds{};
};

class Session;

class Proxy {
 public:
  // Takes over a listening TCP socket, and a socket that receives questions about names.
  Proxy(Surroundings surroundings, int listener, int names);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void start();
  // Accepts no more connections, and cuts those that exist. The event loop then runs out of work.
  void stop();

  // For sessions.
  [[nodiscard]] Surroundings& surroundings() { return surroundings_; }
  [[nodiscard]] const Bounds& bounds() const { return surroundings_.bounds; }
  void enter(Session* session) { sessions_.insert(session); }
  void leave(Session* session, const ConnectionRecord& connection);
  // Counts bytes. Returns why there are too many, as a literal; empty if there are not.
  std::string_view spend(std::uint64_t sent, std::uint64_t received);
  // How many bytes a piece may have, so that it does not far exceed the budget or its rate.
  [[nodiscard]] std::uint64_t room(Direction direction) const;
  std::unique_ptr<Pipe> make_pipe() { return Pipe::make(pipes_, bounds().pipes); }
  // Waits until these bytes, which went in one direction, are within the rate.
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
  boost::asio::ip::tcp::endpoint own_;  // Where guests that know the proxy connect.
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
  // When the bytes so far would have passed at the budget's rate.
  std::chrono::steady_clock::time_point sent_until_{};
  std::chrono::steady_clock::time_point received_until_{};
  bool stopped_ = false;
};

}  // namespace glovebox::egress
