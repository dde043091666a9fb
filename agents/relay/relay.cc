// SPDX-License-Identifier: Apache-2.0
#include "relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace glovebox::relay {
namespace {

constexpr std::size_t kMaxConnections = 64;
// On its way in one direction.
constexpr std::size_t kWindow = 256 * 1024;
constexpr int kBacklog = 64;

// How long an index with a full queue is waited for. Nothing else moves meanwhile.
constexpr timeval kPatience{.tv_sec = 5, .tv_usec = 0};

constexpr std::string_view kNoIndex =
    "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    "Content-Length: 44\r\n\r\nthe package index's socket is not responding";

UniqueFd connect_to(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!fd || path.size() >= sizeof address.sun_path) {
    return {};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  return fd;
}

bool has_failed(ssize_t result) {
  return result < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
}

}  // namespace

bool Relay::listen(std::uint16_t port, std::string socket) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return false;
  }
  listeners_.push_back({std::move(fd), std::move(socket)});
  return true;
}

void Relay::accept_from(const Listener& listener) {
  UniqueFd client(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client) {
    return;
  }
  UniqueFd index = connect_to(listener.socket);
  const bool absent = !index;
  connections_.push_back({.ends = {End{std::move(client)}, End{std::move(index)}}});
  if (absent) {
    connections_.back().ends[0].unsent = kNoIndex;
    connections_.back().ends[1].read_all = true;
  }
}

void Relay::receive(Connection& connection, std::size_t from) {
  static std::array<char, 64 * 1024> block;
  End& other = connection.ends[1 - from];
  const ssize_t got =
      ::recv(connection.ends[from].fd.get(), block.data(), block.size(), MSG_DONTWAIT);
  if (got > 0) {
    // What nobody takes is read all the same: closing with something unread resets a connection,
    // and the client loses an answer that is on its way (RFC 9293, 3.6.1).
    if (other.fd) {
      other.unsent.append(block.data(), static_cast<std::size_t>(got));
    }
  } else if (got == 0) {
    connection.ends[from].read_all = true;
  } else {
    connection.lost = has_failed(got);
  }
}

void Relay::send(Connection& connection, std::size_t to) {
  End& end = connection.ends[to];
  if (!end.unsent.empty()) {
    const ssize_t put =
        ::send(end.fd.get(), end.unsent.data(), end.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) {
      end.unsent.erase(0, static_cast<std::size_t>(put));
    }
    connection.lost = connection.lost || has_failed(put);
  }
  if (end.unsent.empty() && connection.ends[1 - to].read_all && !end.told_all) {
    (void)::shutdown(end.fd.get(), SHUT_WR);
    end.told_all = true;
  }
}

void Relay::run(int link) {
  std::vector<pollfd> polled;
  for (;;) {
    // The link, the listeners, then both ends of each connection.
    polled.assign(1, {link, POLLIN, 0});
    const bool full = connections_.size() >= kMaxConnections;
    for (const Listener& listener : listeners_) {
      polled.push_back({full ? -1 : listener.fd.get(), POLLIN, 0});
    }
    for (const Connection& connection : connections_) {
      for (std::size_t i = 0; i < 2; ++i) {
        const End& end = connection.ends[i];
        const bool reads = !end.read_all && connection.ends[1 - i].unsent.size() < kWindow;
        const int events = (reads ? POLLIN : 0) | (end.unsent.empty() ? 0 : POLLOUT);
        // One that waits for nothing would report its hanging up for ever.
        polled.push_back({events == 0 ? -1 : end.fd.get(), static_cast<short>(events), 0});
      }
    }
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return;
    }
    if (polled[0].revents != 0) {
      return;
    }
    const std::size_t first = 1 + listeners_.size();
    for (std::size_t c = 0; c < connections_.size(); ++c) {
      Connection& connection = connections_[c];
      for (std::size_t i = 0; i < 2; ++i) {
        const pollfd& seen = polled[first + 2 * c + i];
        if ((seen.events & POLLIN) != 0 && (seen.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
          receive(connection, i);
        } else if ((seen.revents & POLLERR) != 0) {
          connection.lost = true;
        }
      }
      send(connection, 0);
      send(connection, 1);
    }
    std::erase_if(connections_, [](const Connection& each) {
      return each.lost || (each.ends[0].told_all && each.ends[1].told_all);
    });
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
      if ((polled[1 + i].revents & POLLIN) != 0) {
        accept_from(listeners_[i]);
      }
    }
  }
}

}  // namespace glovebox::relay
