// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/body_waits.h"

#include <sys/socket.h>

#include <utility>

namespace glovebox::http {
namespace {

using Clock = std::chrono::steady_clock;

double rate_of(const BodyProgress& body, Clock::time_point now) {
  return static_cast<double>(body.bytes) / std::chrono::duration<double>(now - body.since).count();
}

}  // namespace

BodyWaits::Place::Place(Place&& other) noexcept
    : waits_(std::exchange(other.waits_, nullptr)), at_(other.at_) {}

BodyWaits::Place::~Place() {
  if (waits_ != nullptr) {
    const std::scoped_lock lock(waits_->mutex_);
    waits_->uncut_ -= at_->cut ? 0 : 1;
    waits_->waiting_.erase(at_);
  }
}

std::optional<BodyWaits::Place> BodyWaits::enter(const BodyProgress& body) {
  const std::scoped_lock lock(mutex_);
  if (uncut_ >= most_) {
    const auto now = Clock::now();
    Waiting* slowest = nullptr;
    for (Waiting& each : waiting_) {
      if (!each.cut && each.body.since + grace_ <= now &&
          (slowest == nullptr || rate_of(each.body, now) < rate_of(slowest->body, now))) {
        slowest = &each;
      }
    }
    if (slowest == nullptr) {
      return std::nullopt;
    }
    // Its handler wakes up, and leaves its place by itself.
    slowest->cut = true;
    --uncut_;
    (void)::shutdown(slowest->body.fd, SHUT_RDWR);
  }
  ++uncut_;
  return Place(this, waiting_.insert(waiting_.end(), {.body = body, .cut = false}));
}

}  // namespace glovebox::http
