// SPDX-License-Identifier: Apache-2.0
#include "context/zygote_source.h"

namespace glovebox {

Result<std::shared_ptr<Zygote>> ZygoteSource::get() {
  const std::scoped_lock lock(mutex_);
  const bool worn =
      zygote_ && (zygote_->forks() >= wear_.forks || Clock::now() - started_ >= wear_.age);
  if (zygote_ && !zygote_->alive()) {
    if (tell_) {
      tell_("the zygote died; starting another one");
    }
    zygote_.reset();
  }
  if (!zygote_ || worn) {
    zygote_ = GB_TRY(Zygote::start(spec_));
    started_ = Clock::now();
  }
  return zygote_;
}

void ZygoteSource::end_hoarders() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && zygote_) {
    (void)zygote_->end_hoarders();
  }
}

void ZygoteSource::end_idle(std::chrono::steady_clock::duration idle) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && zygote_) {
    zygote_->end_idle(idle);
  }
}

}  // namespace glovebox
