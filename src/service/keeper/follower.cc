// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/follower.h"

#include <poll.h>

#include <utility>

#include "base/json/json.h"
#include "service/keeper/codec.h"

namespace glovebox::keeper {

Follower::Follower(std::shared_ptr<HeldProcess> process,
                   bool from_start,
                   KeeperWire wire,
                   CallBudget::Place place)
    : listener_(std::move(process), from_start),
      from_start_(from_start),
      wire_(std::move(wire)),
      place_(std::move(place)) {
  if (!from_start_) {
    wire_.queue(
        MessageType::kEvent,
        pack(to_json(ProcessEvent{.kind = ProcessEvent::Kind::kStarted, .pid = listener_.pid()})));
  }
}

bool Follower::has_gone() const {
  // The caller says nothing more, so any event here means that it has gone.
  pollfd polled{wire_.fd(), POLLRDHUP, 0};
  return ::poll(&polled, 1, 0) > 0;
}

Follower::Waits Follower::tell() {
  for (;;) {
    if (!wire_.flush()) {
      return Waits::kOver;
    }
    if (wire_.unsent() > 0) {
      return has_gone() ? Waits::kOver : Waits::kForRoom;
    }
    const auto event = ended_ ? std::nullopt : listener_.next();
    if (!event) {
      return ended_ || has_gone() ? Waits::kOver : Waits::kForNews;
    }
    if (!from_start_ && event->kind == ProcessEvent::Kind::kStarted) {
      continue;  // Its start was told already.
    }
    wire_.queue(MessageType::kEvent, pack(to_json(*event)));
    if (event->kind == ProcessEvent::Kind::kEnded) {
      wire_.queue(MessageType::kAnswer, pack(nlohmann::json()));
      ended_ = true;
    }
  }
}

void Follower::lose() {
  if (tell() == Waits::kForNews) {
    wire_.queue(MessageType::kError,
                encode(Error(ErrorCode::kUnavailable, "the sandbox has ended")));
    (void)wire_.flush();
  }
}

}  // namespace glovebox::keeper
