// SPDX-License-Identifier: Apache-2.0
// The warden's own system call filter.
#pragma once

#include "base/result.h"

namespace glovebox::warden {

// Leaves this process, and what it forks, only what moving bytes and files takes: no exec, no new
// sockets, no new privileges. Anything else ends it, and with it the sandbox. Irrevocable.
Result<void> confine_self();

}  // namespace glovebox::warden
