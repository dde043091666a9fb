// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/live_answer.h"

#include <poll.h>

namespace glovebox::e2b {

using std::chrono::steady_clock;

LiveAnswer::LiveAnswer(http::Request& request,
                       http::Response& response,
                       std::chrono::milliseconds beat_every,
                       std::string beat)
    : response_(response),
      beat_every_(beat_every),
      beat_(std::move(beat)),
      gone_fd_(request.gone_fd()),
      last_(steady_clock::now()) {}

bool LiveAnswer::write_locked(std::string_view piece) {
  if (ended_) {
    return false;
  }
  if (!gone_ && !response_.write(piece)) {
    gone_ = true;
  }
  last_ = steady_clock::now();
  return !gone_;
}

bool LiveAnswer::write(std::string_view piece) {
  const std::lock_guard lock(mutex_);
  return write_locked(piece);
}

bool LiveAnswer::idle() {
  const std::lock_guard lock(mutex_);
  pollfd peer{.fd = gone_fd_, .events = POLLIN, .revents = 0};
  if (::poll(&peer, 1, 0) > 0) {
    gone_ = true;
  }
  if (!gone_ && steady_clock::now() - last_ >= beat_every_) {
    return write_locked(beat_);
  }
  return !gone_ && !ended_;
}

void LiveAnswer::finish(std::string_view last) {
  const std::lock_guard lock(mutex_);
  if (ended_) {
    return;
  }
  if (!last.empty()) {
    (void)write_locked(last);
  }
  ended_ = true;
  (void)response_.finish();
}

void LiveAnswer::abort() {
  const std::lock_guard lock(mutex_);
  if (!ended_) {
    ended_ = true;
    response_.abort();
  }
}

IdleTicks::IdleTicks(LiveAnswer& answer)
    : thread_([this, &answer] {
        std::unique_lock lock(mutex_);
        while (!stopped_.wait_for(lock, std::chrono::seconds(1), [this] { return stop_; })) {
          (void)answer.idle();
        }
      }) {}

IdleTicks::~IdleTicks() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

}  // namespace glovebox::e2b
