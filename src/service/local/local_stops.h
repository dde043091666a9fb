// SPDX-License-Identifier: Apache-2.0
// LocalStops: the emergency stops that are in effect, in memory for each call to ask, and in the
// database for the next daemon.
#pragma once

#include <atomic>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/api/emergency_stop.h"
#include "store/stop_records.h"

namespace glovebox {

// Safe to use from any thread.
class LocalStops {
 public:
  explicit LocalStops(Database& database) : records_(database) {}

  // Loads those of the previous daemon.
  Result<void> load();
  // In effect when it returns, even if it cannot be recorded. A scope's first stop stays.
  Result<void> add(const EmergencyStop& stop);
  // kNotFound if there is none.
  Result<void> remove(const StopScope& scope);
  // Oldest first.
  [[nodiscard]] std::vector<EmergencyStop> all() const;
  [[nodiscard]] std::optional<EmergencyStop> of(std::string_view tenant,
                                                std::string_view sandbox) const;

 private:
  StopRecords records_;
  std::atomic<bool> any_ = false;
  mutable std::shared_mutex mutex_;
  std::vector<EmergencyStop> stops_;
};

}  // namespace glovebox
