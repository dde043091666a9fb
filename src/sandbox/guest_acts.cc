// SPDX-License-Identifier: Apache-2.0
#include "sandbox/guest_acts.h"

#include <algorithm>
#include <utility>

namespace glovebox {

void GuestLedger::tell(Told told) {
  const std::scoped_lock lock(mutex_);
  told_ = std::move(told);
  for (const GuestAct& act : std::exchange(untold_, {})) {
    told_(act);
  }
}

void GuestLedger::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  untold_.clear();
  const Told told = std::exchange(told_, nullptr);
  if (!told) {
    return;
  }
  for (const auto& [call, count] : refused_) {
    if (count > 1) {
      told({.kind = GuestAct::Kind::kRefusedCall, .name = call, .more = count - 1});
    }
  }
  if (more_programs_ > 0) {
    told({.kind = GuestAct::Kind::kProgram, .more = more_programs_});
  }
}

bool GuestLedger::count_refusal(std::string_view call) {
  const std::scoped_lock lock(mutex_);
  const auto found = refused_.find(call);
  if (found != refused_.end()) {
    ++found->second;
    return false;
  }
  refused_.emplace(call, 1);
  return true;
}

bool GuestLedger::count_program(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const std::chrono::duration<double> passed = now - filled_;
  programs_left_ = std::min(kBurst, programs_left_ + passed.count() * kPerSecond);
  filled_ = now;
  // While nobody listens, no more of them are kept.
  if (programs_left_ < 1 || untold_.size() >= kMostUntold) {
    ++more_programs_;
    return false;
  }
  programs_left_ -= 1;
  return true;
}

void GuestLedger::tell_act(GuestAct act) {
  const std::scoped_lock lock(mutex_);
  if (told_) {
    told_(act);
  } else if (!closed_) {
    untold_.push_back(std::move(act));
  }
}

}  // namespace glovebox
