// SPDX-License-Identifier: Apache-2.0
// The root of a file system that others made, which guests see in place of the host's.
#pragma once

#include "base/result.h"

namespace glovebox {

// Makes in the directory what a sandbox needs to cover or to lead elsewhere: /etc with regular
// files passwd, group, hosts and nsswitch.conf, and /var/tmp as a link to /tmp. Follows no link.
// Nobody else may change the directory meanwhile.
Result<void> prepare_foreign_root(int root_fd);

// kInvalid if prepare_foreign_root() was not called.
Result<void> check_foreign_root(int root_fd);

}  // namespace glovebox
