// SPDX-License-Identifier: Apache-2.0
// Happenings: events that only the keeper has seen, kept for the audit journal until the daemon
// fetches them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "service/api/happening.h"

namespace glovebox::keeper {

// Safe to use from several threads.
class Happenings {
 public:
  // While no daemon fetches them, events beyond this number are only counted.
  static constexpr std::size_t kMost = 4'096;

  void note(Happening happening);
  // The events since the last call, oldest first. If some were only counted, the last one says how
  // many: "audit.missed".
  std::vector<Happening> take();

 private:
  std::mutex mutex_;  // Guards both.
  std::vector<Happening> noted_;
  std::uint64_t missed_ = 0;
};

}  // namespace glovebox::keeper
