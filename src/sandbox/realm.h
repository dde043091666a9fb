// SPDX-License-Identifier: Apache-2.0
// Realm: a user and a pid namespace that sandboxes are made in.
//
// A realm is itself a sandbox, in which nobody has a capability. A process of its user owns the
// user namespaces of the sandboxes that are made below it, and so may enter these
// (user_namespaces(7)), and has power over nothing else: a zygote can put forks of itself there.
// When the realm ends, all sandboxes in it end (pid_namespaces(7)).
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"

namespace glovebox {

struct Realm {
  UniqueFd user_ns;
  UniqueFd pid_ns;
  // Its user, by the number outside.
  uid_t uid = 0;
};

}  // namespace glovebox
