// SPDX-License-Identifier: Apache-2.0
// The users of a sandbox's root, from its passwd(5) and group(5), which anybody may have written.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::files {

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};
  std::string name{};  // Empty: it has only a number.
  std::string home{};  // Empty: it has none.
};

// Looks up NAME, NAME:GROUP, UID or UID:GID as a container's engine does: numbers need no entry,
// and have group 0 without one. Malformed lines are skipped. kNotFound for a name that has no
// entry, kInvalid for what is not a name.
Result<User> find_user(std::string_view wanted, std::string_view passwd, std::string_view group);

}  // namespace glovebox::files
