// SPDX-License-Identifier: Apache-2.0
#include "link_monitor.h"

#include <cstdint>
#include <cstring>

namespace glovebox::jupyter {
namespace {

// A new try is announced at the same moment.
constexpr std::chrono::milliseconds kTryGrace(50);

}  // namespace

LinkMonitor::LinkMonitor(zmq::context_t& context, zmq::socket_t& socket, const std::string& name)
    : events_(context, zmq::socket_type::pair) {
  const std::string address = "inproc://monitor-" + name;
  constexpr int kEvents = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_CONNECTED |
                          ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  if (zmq_socket_monitor(socket.handle(), address.c_str(), kEvents) != 0) {
    throw zmq::error_t();
  }
  events_.set(zmq::sockopt::linger, 0);
  events_.connect(address);
}

void LinkMonitor::read() {
  zmq::message_t part;
  while (events_.recv(part, zmq::recv_flags::dontwait)) {
    // A number of 16 bits and a value of 32; then, as a part of its own, the address.
    std::uint16_t event = 0;
    if (!part.more() || part.size() < sizeof event) {
      continue;
    }
    std::memcpy(&event, part.data(), sizeof event);
    linked_ = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    if (event == ZMQ_EVENT_DISCONNECTED) {
      given_up_at_ = Clock::now() + kTryGrace;
    } else {
      given_up_at_.reset();
    }
  }
}

}  // namespace glovebox::jupyter
