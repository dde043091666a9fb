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
  // stop is lifted, also after a restart. Workspaces on disk stay as they are. Returns how many
  // sandboxes it were. kNotFound for what is neither a tenant nor a sandbox.
  virtual Result<std::size_t> emergency_stop(const Caller& caller, const StopScope& scope) = 0;
  // kNotFound where there is no stop of this very scope.
  virtual Result<void> lift_emergency_stop(const Caller& caller, const StopScope& scope) = 0;
  // Oldest first.
  virtual Result<std::vector<EmergencyStop>> emergency_stops(const Caller& caller) = 0;
  // One that is in effect for a sandbox, or for the tenant where the id is empty. Never waits.
  [[nodiscard]] virtual std::optional<EmergencyStop> stop_of(std::string_view tenant,
                                                             std::string_view sandbox) = 0;
};

}  // namespace glovebox
