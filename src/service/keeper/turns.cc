// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/turns.h"

#include <algorithm>

namespace glovebox::keeper {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// How often one that waits asks whether it is still wanted.
constexpr auto kLook = 250ms;

}  // namespace

Result<Turns::Turn> Turns::take(const Patience& patience) {
  std::unique_lock lock(mutex_);
  if (line_.size() > kMostWaiting) {
    return Error(ErrorCode::kExhausted,
                 "this context has " + std::to_string(kMostWaiting) + " queued requests",
                 "wait until some of them are done, or use another context");
  }
  const auto place = line_.emplace(line_.end());
  while (line_.begin() != place) {
    (void)place->wait_until(lock, std::min(patience.deadline, Clock::now() + kLook));
    if (line_.begin() == place) {
      break;
    }
    const bool late = Clock::now() >= patience.deadline;
    bool wanted = true;
    if (!late) {
      lock.unlock();  // What is asked may take locks of its own.
      wanted = patience.is_wanted();
      lock.lock();
    }
    if (line_.begin() != place && (late || !wanted)) {
      line_.erase(place);
      return late ? Error(ErrorCode::kConflict, "this context is busy",
                          "wait for its execution to finish, or interrupt it")
                  : Error(ErrorCode::kUnavailable, "the request was canceled");
    }
  }
  lock.unlock();
  Turn turn(this);
  if (!patience.is_wanted()) {
    return Error(ErrorCode::kUnavailable, "the request was canceled");
  }
  return turn;
}

void Turns::give_back() {
  const std::scoped_lock lock(mutex_);
  line_.pop_front();
  if (!line_.empty()) {
    line_.front().notify_one();
  }
}

bool Turns::taken() const {
  const std::scoped_lock lock(mutex_);
  return !line_.empty();
}

}  // namespace glovebox::keeper
