// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/streamed_answer.h"

#include <poll.h>

#include <array>
#include <utility>

namespace glovebox::mcp {
namespace {

// Proxies between us and the client close what is silent for longer.
constexpr int kKeepAlive = 10'000;  // Milliseconds.
// When a call that has said nothing yet becomes a stream that can be resumed. Most have their
// result by then.
constexpr int kPrimeAfter = 1'000;
// How long a client waits before it resumes.
constexpr std::string_view kRetry = "retry: 1000\n";

}  // namespace

std::string message_event(std::string_view message) {
  return "event: message\ndata: " + std::string(message) + "\n";
}

void StreamedAnswer::start() {
  if (started_) {
    return;
  }
  started_ = true;
  http::Headers headers = headers_;
  headers.insert(headers.end(), {{"Content-Type", "text/event-stream"},
                                 {"Cache-Control", "no-store"},
                                 {"X-Accel-Buffering", "no"}});
  (void)response_.start(200, headers);
  if (keeping_) {
    stream_ = keeping_->streams->open();
    if (keeping_->primes) {
      put("data: \n");
    }
  }
}

void StreamedAnswer::write(std::string_view piece) {
  if (!elsewhere_) {
    (void)response_.write(piece);
  }
}

void StreamedAnswer::put(std::string fields) {
  if (!keeping_) {
    write(fields + "\n");
    return;
  }
  if (!has_id_) {
    fields.insert(0, kRetry);
    has_id_ = true;
  }
  const KeptStreams::Added added = keeping_->streams->add(stream_, fields);
  if (added.taken_over && !elsewhere_) {
    elsewhere_ = true;
    response_.abort();
  }
  write(added.event);
}

void StreamedAnswer::tell(std::string_view message) {
  if (streams_) {
    const std::scoped_lock lock(mutex_);
    start();
    put(message_event(message));
  }
}

void StreamedAnswer::end_stream() {
  if (keeping_ && started_) {
    keeping_->streams->finish(stream_);
  }
}

void StreamedAnswer::finish(int status, std::string_view message) {
  const std::scoped_lock lock(mutex_);
  if (started_) {
    put(message_event(message));
    end_stream();
    if (!elsewhere_) {
      (void)response_.finish();
    }
    return;
  }
  http::Headers headers = headers_;
  headers.insert(headers.end(),
                 {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}});
  (void)response_.send(status, headers, message);
}

void StreamedAnswer::abort() {
  const std::scoped_lock lock(mutex_);
  end_stream();
  if (!elsewhere_) {
    response_.abort();
  }
}

void StreamedAnswer::release() {
  const std::scoped_lock lock(mutex_);
  if (!streams_ || !keeping_) {
    return;
  }
  start();
  if (has_id_ && !elsewhere_) {
    elsewhere_ = true;
    (void)response_.finish();
  }
}

void StreamedAnswer::watch(int gone_fd, int over_fd, Cancellation* cancellation) {
  bool gone = false;
  int patience = keeping_ && keeping_->primes ? kPrimeAfter : kKeepAlive;
  for (;;) {
    std::array<pollfd, 2> waits{{{gone ? -1 : gone_fd, POLLIN, 0}, {over_fd, POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), patience);
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
      start();
      if (std::exchange(patience, kKeepAlive) == kKeepAlive) {
        write(":\n\n");
      }
    }
  }
}

}  // namespace glovebox::mcp
