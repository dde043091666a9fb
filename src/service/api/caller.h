// SPDX-License-Identifier: Apache-2.0
// Caller: who asks the service for something. Only the service makes one; a door passes it on.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox {

// The scopes of a key. None includes another.
inline constexpr std::string_view kScopeRead = "read";    // Looks at what the tenant has.
inline constexpr std::string_view kScopeRun = "run";      // Makes it, uses it, changes it.
inline constexpr std::string_view kScopeAdmin = "admin";  // Rules the daemon and all tenants.
// Agrees to what a policy asks a person about. Not for keys that run what is asked about.
inline constexpr std::string_view kScopeApprove = "approve";

struct Caller {
  std::string tenant{};
  std::vector<std::string> scopes{};
  // The id of the key that was shown; it must be valid at each call. Empty: another proof.
  std::string key{};
  // The one sandbox or volume that a token opened. Both empty: everything of the tenant's.
  std::string sandbox{};
  std::string volume{};

  [[nodiscard]] bool may(std::string_view scope) const {
    return std::ranges::find(scopes, scope) != scopes.end();
  }
};

// What a file client is wanted for.
enum class FileAccess {
  kRead,
  kUse,      // Reading, changing, and connecting to ports.
  kConnect,  // Only connecting to ports. The asker must keep to that itself: it is not recorded.
};

}  // namespace glovebox
