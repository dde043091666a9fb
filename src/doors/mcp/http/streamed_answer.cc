// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/streamed_answer.h"

#include <poll.h>

#include <array>

namespace glovebox::mcp {
namespace {

// Proxies between us and the client close what is silent for longer.
constexpr int kKeepAlive = 10'000;  // Milliseconds.

}  // namespace

void StreamedAnswer::write(std::string_view piece) {
  if (!started_) {
    started_ = true;
    http::Headers headers = headers_;
    headers.insert(headers.end(), {{"Content-Type", "text/event-stream"},
                                   {"Cache-Control", "no-store"},
                                   {"X-Accel-Buffering", "no"}});
    if (!response_.start(200, headers)) {
      return;
    }
  }
  (void)response_.write(piece);
}

void StreamedAnswer::tell(std::string_view message) {
  if (streams_) {
    const std::scoped_lock lock(mutex_);
    write("event: message\ndata: " + std::string(message) + "\n\n");
  }
}

void StreamedAnswer::finish(int status, std::string_view message) {
  const std::scoped_lock lock(mutex_);
  if (started_) {
    write("event: message\ndata: " + std::string(message) + "\n\n");
    (void)response_.finish();
    return;
  }
  http::Headers headers = headers_;
  headers.insert(headers.end(),
                 {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}});
  (void)response_.send(status, headers, message);
}

void StreamedAnswer::watch(int gone_fd, int over_fd, Cancellation* cancellation) {
  bool gone = false;
  for (;;) {
    std::array<pollfd, 2> waits{{{gone ? -1 : gone_fd, POLLIN, 0}, {over_fd, POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), kKeepAlive);
    if (waits[1].revents != 0) {
      return;
    }
    if (ready > 0 && waits[0].revents != 0) {
      gone = true;
      if (cancellation != nullptr) {
        cancellation->cancel();
      }
    } else if (ready == 0 && streams_ && !gone) {
      const std::scoped_lock lock(mutex_);
      write(":\n\n");
    }
  }
}

}  // namespace glovebox::mcp
