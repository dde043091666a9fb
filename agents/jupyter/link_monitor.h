// SPDX-License-Identifier: Apache-2.0
// LinkMonitor: notices that ZeroMQ has made a connection, or has given one up.
//
// ZeroMQ connects again by itself when the other end has closed, but not when it has cut the
// connection itself because of a message over ZMQ_MAXMSGSIZE. The only sign of the latter is that
// no new try follows.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <zmq.hpp>

namespace glovebox::jupyter {

class LinkMonitor {
 public:
  using Clock = std::chrono::steady_clock;

  // `name` is unique in the context. The socket needs to outlive only this object's last call.
  LinkMonitor(zmq::context_t& context, zmq::socket_t& socket, const std::string& name);

  // Reads what has happened.
  void read();

  // When to treat the connection as given up, unless read() finds out otherwise.
  [[nodiscard]] std::optional<Clock::time_point> given_up_at() const { return given_up_at_; }

  // Both ends have introduced themselves: messages can pass.
  [[nodiscard]] bool is_linked() const { return linked_; }

  // Call it after connecting the socket again.
  void forget() {
    given_up_at_.reset();
    linked_ = false;
  }

  // For zmq_poll.
  [[nodiscard]] zmq::pollitem_t poll_item() { return {events_.handle(), -1, ZMQ_POLLIN, 0}; }

 private:
  zmq::socket_t events_;
  std::optional<Clock::time_point> given_up_at_;
  bool linked_ = false;
};

}  // namespace glovebox::jupyter
