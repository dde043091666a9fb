// SPDX-License-Identifier: Apache-2.0
#include "channels.h"

#include <utility>
#include <vector>

namespace glovebox::jupyter {
namespace {

// Soon after the kernel has bound its sockets; each try costs one connect(2).
constexpr int kReconnectMilliseconds = 5;

// A kernel's PUB socket throws away what does not fit, so more is queued here than for the channels
// on which the sender waits.
constexpr int kMaxQueuedOutput = 1000;
constexpr int kMaxQueuedReplies = 16;

zmq::socket_t configured(zmq::context_t& context, Channel channel, const std::string& session) {
  const bool is_output = channel == Channel::kIopub;
  zmq::socket_t socket(context, is_output ? zmq::socket_type::sub : zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxPart));
  socket.set(zmq::sockopt::rcvhwm, is_output ? kMaxQueuedOutput : kMaxQueuedReplies);
  socket.set(zmq::sockopt::reconnect_ivl, kReconnectMilliseconds);
  if (is_output) {
    socket.set(zmq::sockopt::subscribe, "");
  } else {
    socket.set(zmq::sockopt::routing_id, session);
  }
  return socket;
}

}  // namespace

Channels::Channels(const Connection& connection, const std::string& session)
    : session_(session), signer_(connection.key()) {
  for (std::size_t i = 0; i < kChannels.size(); ++i) {
    endpoints_[i] = connection.endpoint(kChannels[i]);
    sockets_[i] = configured(context_, kChannels[i], session);
    monitors_.emplace_back(context_, sockets_[i], std::to_string(i));
    sockets_[i].connect(endpoints_[i]);
  }
}

bool Channels::send(Channel channel, const Message& message) {
  const std::vector<std::string> parts = serialise(message, signer_);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto flags = zmq::send_flags::dontwait;
    if (i + 1 < parts.size()) {
      flags = flags | zmq::send_flags::sndmore;
    }
    // Only the first part can find the queue full.
    if (!socket(channel).send(zmq::buffer(parts[i]), flags)) {
      return false;
    }
  }
  return true;
}

std::optional<Result<Message>> Channels::receive(Channel channel) {
  std::vector<zmq::message_t> parts;
  std::size_t size = 0;
  bool too_large = false;
  bool more = true;
  while (more) {
    zmq::message_t part;
    if (!socket(channel).recv(part, zmq::recv_flags::dontwait)) {
      return std::nullopt;
    }
    more = part.more();
    size += part.size();
    too_large = too_large || parts.size() == kMaxParts || size > kMaxPart;
    if (too_large) {
      parts.clear();
    } else {
      parts.push_back(std::move(part));
    }
  }
  if (too_large) {
    return Error(ErrorCode::kInvalid, "a message over the size limit");
  }
  std::vector<std::string_view> views;
  views.reserve(parts.size());
  for (const zmq::message_t& part : parts) {
    views.push_back(part.to_string_view());
  }
  return parse_message(views, signer_);
}

bool Channels::wait(Channel channel, std::chrono::milliseconds timeout) {
  std::array<zmq::pollitem_t, 1> items{poll_item(channel)};
  return zmq::poll(items, timeout) > 0;
}

zmq::pollitem_t Channels::poll_item(Channel channel) {
  return {socket(channel).handle(), -1, ZMQ_POLLIN, 0};
}

zmq::pollitem_t Channels::monitor_item(Channel channel) {
  return monitors_[static_cast<std::size_t>(channel)].poll_item();
}

void Channels::mend(const std::function<void(Channel)>& lost) {
  bool requests_lost = false;
  for (std::size_t i = 0; i < monitors_.size(); ++i) {
    monitors_[i].read();
    const auto time = monitors_[i].given_up_at();
    if (time && LinkMonitor::Clock::now() >= *time) {
      lost(kChannels[i]);
      if (kChannels[i] == Channel::kIopub) {
        connect_again(i);
      } else {
        requests_lost = true;
      }
    }
  }
  if (!requests_lost) {
    return;
  }
  // Under the old name a kernel that has not noticed yet would ignore our messages. All channels
  // need the same name: a kernel asks for input under the name of the request.
  const std::string name = session_ + "." + std::to_string(++renamed_);
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    if (kChannels[i] != Channel::kIopub) {
      sockets_[i].set(zmq::sockopt::routing_id, name);
      connect_again(i);
    }
  }
}

void Channels::connect_again(std::size_t i) {
  monitors_[i].forget();
  // ZeroMQ would take a second connect to the same endpoint for a mistake. It is not an error here
  // if the first one is already gone.
  (void)zmq_disconnect(sockets_[i].handle(), endpoints_[i].c_str());
  sockets_[i].connect(endpoints_[i]);
}

std::optional<LinkMonitor::Clock::time_point> Channels::mend_time() const {
  std::optional<LinkMonitor::Clock::time_point> first;
  for (const LinkMonitor& monitor : monitors_) {
    const auto time = monitor.given_up_at();
    if (time && (!first || *time < *first)) {
      first = time;
    }
  }
  return first;
}

}  // namespace glovebox::jupyter
