// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_dry_run.h"

#include "base/text.h"
#include "spec/json/dry_run_json.h"

namespace glovebox::keeper {

Result<void> HeldDryRun::begin(const DryRunning::Place& place,
                               std::string_view context,
                               const DryRunWish& wish,
                               std::string seal) {
  const std::scoped_lock lock(mutex_);
  DryRun named{.id = GB_TRY(gate_->close(context)), .context = std::string(context)};
  auto begun = DryRunning::begin(place, wish.network, std::move(named));
  if (!begun) {
    gate_->open();
    return std::move(begun).error();
  }
  running_ = std::move(begun).value();
  seal_ = std::move(seal);
  timeout_ = wish.timeout;
  return {};
}

void HeldDryRun::end() {
  running_.reset();
  waits_ = false;
  gate_->open();
}

void HeldDryRun::await_decision(Clock::time_point deadline) {
  waits_ = true;
  deadline_ = deadline;
  gate_->await_decision(to_json(running_->run()), deadline);
}

void HeldDryRun::give_up() {
  const std::scoped_lock lock(mutex_);
  if (running_->discard()) {
    end();
  } else {
    await_decision(Clock::now());
  }
}

DryRun HeldDryRun::conclude(const std::vector<RefusedCall>& refused) {
  const std::scoped_lock lock(mutex_);
  running_->conclude(refused);
  running_->set_expiry(std::chrono::system_clock::now() + timeout_);
  await_decision(Clock::now() + timeout_);
  return running_->run();
}

Result<void> HeldDryRun::decide(std::string_view id, const DryRunDecision& decision) {
  const std::scoped_lock lock(mutex_);
  const bool over = Clock::now() >= deadline_;
  if (!waits_ || running_->run().id != id || (decision.commit && over)) {
    return Error(ErrorCode::kNotFound, "no undecided dry run '" + printable(id) + "'",
                 "it was decided, or discarded when its time was over");
  }
  if (decision.commit && decision.seal != seal_) {
    return Error(ErrorCode::kRefused,
                 "dry run '" + printable(id) + "' can be committed only by an approval",
                 "glovebox approve lists what waits; without one, discard the dry run");
  }
  auto decided = decision.commit ? running_->commit() : running_->discard();
  if (!decided && decided.error().code() == ErrorCode::kConflict) {
    await_decision(deadline_);
  }
  GB_TRY(std::move(decided));
  end();
  return {};
}

}  // namespace glovebox::keeper
