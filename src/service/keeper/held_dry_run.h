// SPDX-License-Identifier: Apache-2.0
// HeldDryRun: a dry run of a held sandbox, from the gate that it closes to the decision that opens
// it again.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/api/contexts.h"
#include "service/api/dry_run_wish.h"
#include "service/keeper/dry_run_gate.h"
#include "service/keeper/dry_running.h"
#include "spec/dry_run.h"

namespace glovebox::keeper {

// For one context, or for the commands of a sandbox. Safe to use from several threads.
class HeldDryRun {
 public:
  explicit HeldDryRun(std::shared_ptr<DryRunGate> gate) : gate_(std::move(gate)) {}

  // Closes the gate. What `place` names must outlive the dry run. Leaves no trace if it fails.
  Result<void> begin(const DryRunning::Place& place,
                     std::string_view context,
                     const DryRunWish& wish,
                     std::string seal);
  // It was not executed, or not to the end: takes back what it has changed.
  void give_up();
  // It was executed, and waits for a decision from now on. Returns what it has changed.
  DryRun conclude(const std::vector<RefusedCall>& refused);

  // Keeps, or takes back, what it has changed. kNotFound if this one does not wait for a decision,
  // kRefused if the seal to keep it is wrong; otherwise fails as DryRunning's.
  Result<void> decide(std::string_view id, const DryRunDecision& decision);

 private:
  using Clock = DryRunGate::Clock;
  // These require the mutex.
  void await_decision(Clock::time_point deadline);
  void end();

  const std::shared_ptr<DryRunGate> gate_;
  std::mutex mutex_;  // Of what follows.
  std::unique_ptr<DryRunning> running_;
  std::string seal_;
  std::chrono::milliseconds timeout_{0};
  bool waits_ = false;
  Clock::time_point deadline_{};
};

}  // namespace glovebox::keeper
