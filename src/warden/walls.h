// SPDX-License-Identifier: Apache-2.0
// What the walls look like from inside.
#pragma once

#include "spec/warden_protocol.h"

namespace glovebox::warden {

// Looks at this process's own namespaces, filter, capabilities and identity. `proc_self` is its own
// directory of /proc.
ReadyReport observe_walls(int proc_self);

}  // namespace glovebox::warden
