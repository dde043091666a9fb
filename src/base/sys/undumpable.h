// SPDX-License-Identifier: Apache-2.0
// Keeping a process's memory and descriptors to itself.
#pragma once

#include <sys/prctl.h>

namespace glovebox::sys {

// From now on, only those who may trace every process of this machine (ptrace(2)) can read or write
// the memory of this process, or take its descriptors. Its files in /proc belong to root. Holds
// until an exec; applies to processes that share the memory as well. It leaves no core dump.
inline void become_undumpable() noexcept { (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

}  // namespace glovebox::sys
