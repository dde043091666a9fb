// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/delivery.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace glovebox::keeper {
namespace {

using Clock = std::chrono::steady_clock;

// How often it looks whether anybody listens still.
constexpr std::chrono::seconds kLook{1};

}  // namespace

bool Delivery::full() const { return !gone_ && reader_.behind() + wire_.unsent() > kMostBehind; }

int Delivery::waits_for() const {
  return !gone_ && (wire_.unsent() > 0 || reader_.behind() > 0) ? wire_.fd() : -1;
}

void Delivery::pass_on() {
  while (!gone_) {
    gone_ = !wire_.flush();
    if (gone_ || wire_.unsent() > 0) {
      return;
    }
    const auto next = reader_.next({});
    if (!next) {
      return;
    }
    offer(*next);
  }
}

void Delivery::offer(const ExecutionLog::Next& next) {
  if (next.missed > 0) {
    wire_.queue(MessageType::kEvent,
                nlohmann::json{{"type", "missed"}, {"events", next.missed}}.dump());
  }
  wire_.queue(MessageType::kEvent, next.event);
}

Result<void> Delivery::finish(const std::function<bool()>& listens) {
  while (!gone_ && !reader_.ended() && listens()) {
    if (const auto next = reader_.next(Clock::now() + kLook); next) {
      offer(*next);
      // The last one goes with the answer of the call.
      gone_ = !reader_.ended() && !wire_.flush_all();
    }
  }
  if (auto lost = reader_.log().lost()) {
    return *std::move(lost);
  }
  return {};
}

}  // namespace glovebox::keeper
