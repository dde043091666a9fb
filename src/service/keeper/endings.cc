// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/endings.h"

namespace glovebox::keeper {

void Endings::note(std::string_view sandbox, EndReason reason) {
  const std::scoped_lock lock(mutex_);
  const Ending ending{.reason = reason, .at = std::chrono::system_clock::now()};
  if (!endings_.try_emplace(std::string(sandbox), ending).second) {
    return;
  }
  order_.emplace_back(sandbox);
  if (order_.size() > kMost) {
    endings_.erase(order_.front());
    order_.pop_front();
  }
}

void Endings::forget(std::string_view sandbox) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = endings_.find(sandbox); found != endings_.end()) {
    endings_.erase(found);
    std::erase(order_, sandbox);
  }
}

std::optional<Ending> Endings::find(std::string_view sandbox) const {
  const std::scoped_lock lock(mutex_);
  const auto found = endings_.find(sandbox);
  return found == endings_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace glovebox::keeper
