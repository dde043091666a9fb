// SPDX-License-Identifier: Apache-2.0
// Follower: a caller that is told what a process says, without a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "service/keeper/call_budget.h"
#include "service/keeper/held_process.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {

// One thread: that of the pump of its process's sandbox (process_pump.h).
class Follower {
 public:
  // From the beginning of what is kept; or from now on, after a kStarted of its own. `place` is
  // held as long as this lives, and so is the connection, which ends with it.
  Follower(std::shared_ptr<HeldProcess> process,
           bool from_start,
           KeeperWire wire,
           CallBudget::Place place);
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  enum class Waits {
    kForNews,
    kForRoom,  // Its caller has not taken what was sent.
    kOver,     // Everything is told, or the caller has gone.
  };
  // Sends as much of what the process has said as the caller takes at once. Never waits.
  Waits tell();
  // The sandbox has ended: sends as much of the rest as the caller takes at once.
  void lose();

  // Its connection, and what the pump watches it for; nothing before the first time.
  [[nodiscard]] int fd() const { return wire_.fd(); }
  [[nodiscard]] std::optional<Waits> watched() const { return watched_; }
  void set_watched(Waits waits) { watched_ = waits; }

 private:
  bool has_gone() const;

  HeldProcess::Listener listener_;
  const bool from_start_;
  KeeperWire wire_;
  const CallBudget::Place place_;
  std::optional<Waits> watched_;
  bool ended_ = false;  // The end is told, or waits to be sent.
};

}  // namespace glovebox::keeper
