// SPDX-License-Identifier: Apache-2.0
// The daemon's own user, which has no power over the machine.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace glovebox {

struct DaemonUser {
  uid_t uid = 0;
  gid_t gid = 0;
};

// By its name in /etc/passwd, or as "UID:GID". kInvalid for root, and if there is no such user.
Result<DaemonUser> find_user(const std::string& name);

// Gives up root for good: groups, ids, capabilities, and whatever executing a program could give
// back (no_new_privs). Requires: root, and no other thread. After an error the process must end.
Result<void> become(const DaemonUser& user);

}  // namespace glovebox
