// SPDX-License-Identifier: Apache-2.0
#include "files/server/tunnel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

namespace glovebox::files {
namespace {

constexpr std::size_t kBuffer = 64UL * 1024;

// One direction.
struct Lane {
  int from;
  int to;
  std::string waiting;
  bool ended = false;  // Nothing more comes.
  bool over = false;   // And that was passed on.

  [[nodiscard]] bool wants_more() const { return !ended && waiting.size() < kBuffer; }
};

bool would_wait(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

// False when a side has failed.
bool take(Lane& lane) {
  std::array<char, kBuffer> bytes;
  const ssize_t got = ::recv(lane.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got > 0) {
    lane.waiting.append(bytes.data(), static_cast<std::size_t>(got));
  } else if (got == 0) {
    lane.ended = true;
  }
  return got >= 0 || would_wait(got);
}

bool give(Lane& lane) {
  if (!lane.waiting.empty()) {
    const ssize_t put =
        ::send(lane.to, lane.waiting.data(), lane.waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && !would_wait(put)) {
      return false;
    }
    lane.waiting.erase(0, put > 0 ? static_cast<std::size_t>(put) : 0);
  }
  if (lane.waiting.empty() && lane.ended && !lane.over) {
    lane.over = true;
    (void)::shutdown(lane.to, SHUT_WR);
  }
  return true;
}

}  // namespace

void run_tunnel(int a, int b, std::string ahead) {
  std::array<Lane, 2> lanes{
      {{.from = a, .to = b, .waiting = std::move(ahead)}, {.from = b, .to = a, .waiting = {}}}};
  while (!lanes[0].over || !lanes[1].over) {
    // For each socket: what comes from it, and what it can take. A socket of which neither is
    // wanted is left out: its hang-up would wake us again and again. But once `a` says nothing
    // more, it is watched for its hang-up: nobody hears `b` then.
    const auto watch = [](int fd, const Lane& from, const Lane& to) {
      const int events = (from.wants_more() ? POLLIN : 0) | (to.waiting.empty() ? 0 : POLLOUT);
      return pollfd{events == 0 ? -1 : fd, static_cast<short>(events), 0};
    };
    std::array<pollfd, 2> polled{watch(a, lanes[0], lanes[1]), watch(b, lanes[1], lanes[0])};
    if (lanes[0].ended) {
      polled[0].fd = a;
    }
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return;
    }
    if (lanes[0].ended && (polled[0].revents & (POLLHUP | POLLERR)) != 0) {
      return;
    }
    for (Lane& lane : lanes) {
      if ((lane.wants_more() && !take(lane)) || !give(lane)) {
        return;
      }
    }
  }
}

}  // namespace glovebox::files
