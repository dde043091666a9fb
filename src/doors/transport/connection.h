// SPDX-License-Identifier: Apache-2.0
// Connection: from its acceptance to its end.
//
// The loop's thread holds it while it waits for something: a handshake, a request, a reader, the
// peer's end. Once a head is whole, a handler's thread gets the connection and works out the
// answer. What the peer does not take of it at once, the loop sends, and looks at no further
// request before that. Otherwise the handler waits a moment itself for the next request, because
// handing over costs more than answering, and then gives the connection back.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "doors/transport/body_waits.h"
#include "doors/transport/capacity.h"
#include "doors/transport/channel.h"
#include "doors/transport/handler_pool.h"
#include "doors/transport/head.h"
#include "doors/transport/http.h"

namespace boost::asio {
class io_context;
}

namespace glovebox::http {

// What all connections of a server share. Outlives them.
struct Shared {
  ServerOptions options;
  Handler handler;
  HandlerPool* pool = nullptr;
  BodyWaits* body_waits = nullptr;
  Capacity* capacity = nullptr;
  boost::asio::io_context* io = nullptr;
  std::atomic<bool> draining{false};
  std::atomic<std::size_t> working{0};       // Requests under way.
  std::atomic<std::size_t> lingering{0};     // Connections whose thread waits for a request longer.
  std::function<void(std::uint64_t)> ended;  // The connection of this number is no more.
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static std::shared_ptr<Connection> make(Shared& shared,
                                          std::uint64_t number,
                                          std::unique_ptr<Channel> channel,
                                          std::string peer,
                                          bool over_unix_socket);
  virtual ~Connection() = default;

  // In the loop's thread:
  virtual void start() = 0;
  // Ends it when its patience has run out.
  virtual void sweep(std::chrono::steady_clock::time_point now) = 0;
  // Ends it when it waits for a request.
  virtual void end_idle() = 0;
  // When it had its last request, while it waits for the next one.
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point> idle_since() const = 0;

  // The same for a connection that has begun a handshake or a request and not finished it.
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point> trickles_since()
      const = 0;
  virtual void end_trickle() = 0;

  // Whose it is, as long as nobody has shown a key.
  [[nodiscard]] virtual const std::string& peer() const = 0;

  // From any thread: nothing can be read or written any more, so that a handler notices.
  virtual void cut() = 0;
};

}  // namespace glovebox::http
