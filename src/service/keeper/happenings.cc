// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/happenings.h"

#include <utility>

namespace glovebox::keeper {

void Happenings::note(Happening happening) {
  const std::scoped_lock lock(mutex_);
  if (noted_.size() < kMost) {
    noted_.push_back(std::move(happening));
  } else {
    ++missed_;
  }
}

std::vector<Happening> Happenings::take() {
  const std::scoped_lock lock(mutex_);
  std::vector<Happening> taken = std::exchange(noted_, {});
  if (const std::uint64_t missed = std::exchange(missed_, 0); missed > 0) {
    taken.push_back(
        {.action = "audit.missed", .details = "{\"count\":" + std::to_string(missed) + "}"});
  }
  return taken;
}

}  // namespace glovebox::keeper
