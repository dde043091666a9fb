// SPDX-License-Identifier: Apache-2.0
// Endings: how the keeper's last sandboxes ended, for a daemon that asks later.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "service/api/ending.h"

namespace glovebox::keeper {

// Safe to use from several threads.
class Endings {
 public:
  // Twice as many as may live: a daemon that was away for a while finds all that it left. Beyond
  // that, the oldest are forgotten.
  static constexpr std::size_t kMost = 8'192;

  // Only the first ending that is noted for a sandbox counts.
  void note(std::string_view sandbox, EndReason reason);
  // For a sandbox that was made again under its name.
  void forget(std::string_view sandbox);
  [[nodiscard]] std::optional<Ending> find(std::string_view sandbox) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Ending, std::less<>> endings_;
  std::deque<std::string> order_;  // Oldest first.
};

}  // namespace glovebox::keeper
