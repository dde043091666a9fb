// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/delivery.h"

#include <chrono>

#include "base/json/json.h"

namespace glovebox::keeper {
namespace {

using Clock = std::chrono::steady_clock;

// How often it checks whether anybody still listens.
constexpr std::chrono::seconds kLook{1};

}  // namespace

bool Delivery::full() const { return !gone_ && reader_.behind() + wire_.unsent() > kMostBehind; }

int Delivery::waits_for() const {
  return !gone_ && (wire_.unsent() > 0 || reader_.behind() > 0) ? wire_.fd() : -1;
}

void Delivery::pass_on() {
  while (!gone_) {
    offer_some();
    if (wire_.unsent() == 0) {
      return;
    }
    gone_ = !wire_.flush();
    if (wire_.unsent() > 0) {
      return;
    }
  }
}

void Delivery::offer_some() {
  while (wire_.unsent() < kPiece) {
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
  while (!gone_ && listens()) {
    offer_some();
    if (reader_.ended()) {
      break;  // The last ones go with the answer of the call.
    }
    gone_ = !wire_.flush_all();
    if (const auto next = reader_.next(Clock::now() + kLook); next) {
      offer(*next);
    }
  }
  if (auto lost = reader_.log().lost()) {
    return *std::move(lost);
  }
  return {};
}

}  // namespace glovebox::keeper
