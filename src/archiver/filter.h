// SPDX-License-Identifier: Apache-2.0
// The archiver's own system call filter.
#pragma once

#include "base/result.h"

namespace glovebox::archiver {

// Leaves this process only what moving bytes and files takes: no exec, no fork, no sockets.
// Anything else ends it. Irrevocable.
Result<void> confine_self();

}  // namespace glovebox::archiver
