// SPDX-License-Identifier: Apache-2.0
// Emergency stops: what was ended at once, and may begin nothing until somebody lifts the stop.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

struct StopScope {
  enum class Kind { kAll, kTenant, kSandbox };
  Kind kind = Kind::kAll;
  std::string name{};  // Of the tenant, or the id of the sandbox.
  friend bool operator==(const StopScope&, const StopScope&) = default;
};

struct EmergencyStop {
  StopScope scope{};
  std::string by_tenant{};  // Who did it: the tenant and the id of the key,
  std::string by_key{};     // which is empty for the user who runs the daemon.
  std::chrono::system_clock::time_point at{};
  friend bool operator==(const EmergencyStop&, const EmergencyStop&) = default;
};

// As in answers and records: "all", "tenant", "sandbox". They never change.
std::string_view to_string(StopScope::Kind kind);
Result<StopScope::Kind> parse_stop_kind(std::string_view name);

[[nodiscard]] bool covers(const StopScope& scope,
                          std::string_view tenant,
                          std::string_view sandbox);

// The error for a caller that wants to begin something: kRefused, with who stopped it and when.
[[nodiscard]] Error refusal_by(const EmergencyStop& stop);

}  // namespace glovebox
