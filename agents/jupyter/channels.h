// SPDX-License-Identifier: Apache-2.0
// Channels: the four ZeroMQ sockets to a kernel. The heartbeat is not among them: a child that
// dies is reported by the system.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "base/result.h"
#include "connection.h"
#include "link_monitor.h"
#include "wire.h"

namespace glovebox::jupyter {

class Channels {
 public:
  // `session` becomes the routing id, by which a kernel finds the stdin channel of the client that
  // sent a request. The kernel need not be there yet. Throws zmq::error_t if ZeroMQ cannot work.
  Channels(const Connection& connection, const std::string& session);

  // Never waits. False if the kernel has left so many requests unread that no more fit.
  [[nodiscard]] bool send(Channel channel, const Message& message);

  // The next message, if one has arrived. An error concerns that message only.
  std::optional<Result<Message>> receive(Channel channel);

  // Waits until the channel can be read, at most `timeout`.
  [[nodiscard]] bool wait(Channel channel, std::chrono::milliseconds timeout);

  // Whether messages can pass, as of the last mend(). Before that, what a kernel sends on any
  // channel but the one that it was asked on is thrown away (zmq_socket(3), ZMQ_ROUTER).
  [[nodiscard]] bool is_linked(Channel channel) const {
    return monitors_[static_cast<std::size_t>(channel)].is_linked();
  }

  // For zmq_poll.
  [[nodiscard]] zmq::pollitem_t poll_item(Channel channel);
  [[nodiscard]] zmq::pollitem_t monitor_item(Channel channel);

  // Reconnects channels that ZeroMQ has given up. Call it when a monitor can be read, and at the
  // time that mend_time() says. Messages on their way over such a channel may be lost; `lost` is
  // called with that channel.
  void mend(const std::function<void(Channel)>& lost);
  [[nodiscard]] std::optional<LinkMonitor::Clock::time_point> mend_time() const;

 private:
  [[nodiscard]] zmq::socket_t& socket(Channel channel) {
    return sockets_[static_cast<std::size_t>(channel)];
  }

  void connect_again(std::size_t i);

  std::string session_;
  unsigned renamed_ = 0;
  std::array<std::string, 4> endpoints_;
  Signer signer_;
  zmq::context_t context_;
  std::array<zmq::socket_t, 4> sockets_;
  std::vector<LinkMonitor> monitors_;
};

}  // namespace glovebox::jupyter
