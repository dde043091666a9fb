// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/dry_run_gate.h"

namespace glovebox::keeper {
namespace {

Error in_the_way(const DryRunGate::Closed& run) {
  if (run.told.empty()) {
    return {ErrorCode::kConflict, "a dry run is executing in this sandbox", "wait until it ends"};
  }
  return {ErrorCode::kConflict, "dry run '" + run.id + "' in this sandbox is undecided",
          "commit or discard it: POST …/dry-runs/" + run.id + "/commit, or …/discard"};
}

}  // namespace

void DryRunGate::forbid(std::string reason) {
  const std::scoped_lock lock(mutex_);
  forbidden_ = std::move(reason);
}

Result<DryRunGate::Pass> DryRunGate::enter() {
  const std::scoped_lock lock(mutex_);
  if (closed_) {
    return in_the_way(*closed_);
  }
  ++passes_;
  return Pass(this);
}

void DryRunGate::leave() {
  const std::scoped_lock lock(mutex_);
  --passes_;
}

Result<std::string> DryRunGate::close(std::string_view context) {
  const std::scoped_lock lock(mutex_);
  if (!forbidden_.empty()) {
    return Error(ErrorCode::kUnsupported, "this sandbox can have no dry runs: " + forbidden_,
                 "use a sandbox without it, or a copy of this one's files");
  }
  if (closed_) {
    return in_the_way(*closed_);
  }
  if (passes_ > 0) {
    return Error(ErrorCode::kConflict, "something else executes in this sandbox",
                 "a dry run needs the sandbox for itself: wait until the other execution ends");
  }
  closed_ = Closed{.id = "d" + std::to_string(next_++), .context = std::string(context)};
  return closed_->id;
}

void DryRunGate::await_decision(std::string told, Clock::time_point deadline) {
  const std::scoped_lock lock(mutex_);
  if (closed_) {
    closed_->told = std::move(told);
    closed_->deadline = deadline;
  }
}

void DryRunGate::open() {
  const std::scoped_lock lock(mutex_);
  closed_.reset();
}

std::optional<DryRunGate::Closed> DryRunGate::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

}  // namespace glovebox::keeper
