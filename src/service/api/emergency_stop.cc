// SPDX-License-Identifier: Apache-2.0
#include "service/api/emergency_stop.h"

#include <algorithm>
#include <array>

#include "base/time_text.h"

namespace glovebox {
namespace {

// In the order of StopScope::Kind.
constexpr std::array<std::string_view, 3> kKinds = {"all", "tenant", "sandbox"};

}  // namespace

std::string_view to_string(StopScope::Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

Result<StopScope::Kind> parse_stop_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name);
  if (found == kKinds.end()) {
    return Error(ErrorCode::kInvalid, "unknown scope of an emergency stop",
                 "use 'all', 'tenant' or 'sandbox'");
  }
  return static_cast<StopScope::Kind>(found - kKinds.begin());
}

bool covers(const StopScope& scope, std::string_view tenant, std::string_view sandbox) {
  switch (scope.kind) {
    case StopScope::Kind::kAll:
      return true;
    case StopScope::Kind::kTenant:
      return scope.name == tenant;
    case StopScope::Kind::kSandbox:
      break;
  }
  return scope.name == sandbox;
}

Error refusal_by(const EmergencyStop& stop) {
  const std::string what = stop.scope.kind == StopScope::Kind::kAll      ? "everything"
                           : stop.scope.kind == StopScope::Kind::kTenant ? "this tenant"
                                                                         : "this sandbox";
  const std::string who = stop.by_key.empty() ? "the operator" : "key " + stop.by_key;
  return {ErrorCode::kRefused,
          "an emergency stop of " + what + " is in effect: by " + who + " of tenant " +
              stop.by_tenant + ", at " + to_rfc3339(stop.at),
          "an administrator lifts it with 'glovebox emergency-stop --resume'"};
}

}  // namespace glovebox
