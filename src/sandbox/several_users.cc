// SPDX-License-Identifier: Apache-2.0
#include "sandbox/several_users.h"

#include <unistd.h>

#include "sandbox/cgroup.h"
#include "sandbox/guest_ids.h"
#include "sandbox/id_range.h"
#include "sandbox/subordinate_ids.h"

namespace glovebox {

Result<std::size_t> sandboxes_with_users() {
  if (::geteuid() == 0) {
    if (const auto given = guest_ids(); given && given->has_ranges) {
      return IdRange::kRanges;
    }
    return Error(ErrorCode::kUnsupported,
                 "the user namespace that glovebox runs in has too few ids",
                 "run glovebox as root outside of it for more");
  }
  // RLIMIT_NPROC counts the processes of each user, and root can be any of them.
  if (!Cgroup::support().pids) {
    return Error(ErrorCode::kUnsupported,
                 "no cgroup limits the processes of several users: " + Cgroup::support().reason,
                 Cgroup::support().hint);
  }
  return SubordinateIds::count();
}

}  // namespace glovebox
