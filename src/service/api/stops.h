// SPDX-License-Identifier: Apache-2.0
// Stops: ends everything of a scope at once, and keeps it ended.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/api/caller.h"
#include "service/api/emergency_stop.h"

namespace glovebox {

class Stops {
 public:
  virtual ~Stops() = default;

  // Ends every sandbox and every execution of the scope, and lets nothing begin there until the
  // stop is lifted, even after a restart. Workspaces on disk stay as they are. Returns how many
  // sandboxes it ended. kNotFound if the scope is neither a tenant nor a sandbox.
  virtual Result<std::size_t> emergency_stop(const Caller& caller, const StopScope& scope) = 0;
  // kNotFound if there is no stop of exactly this scope.
  virtual Result<void> lift_emergency_stop(const Caller& caller, const StopScope& scope) = 0;
  // Oldest first.
  virtual Result<std::vector<EmergencyStop>> emergency_stops(const Caller& caller) = 0;
  // A stop that is in effect for a sandbox, or, if the id is empty, for the tenant. Never waits.
  [[nodiscard]] virtual std::optional<EmergencyStop> stop_of(std::string_view tenant,
                                                             std::string_view sandbox) = 0;
};

}  // namespace glovebox
