// SPDX-License-Identifier: Apache-2.0
// What a machine is while it stands still, written in the form of template_files.h: the state of
// its devices, the names of files that it knows, and its memory.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sandbox/microvm/monitor.h"

namespace glovebox::microvm {

// The state of the machine's devices; nothing if QEMU does not give it. A machine that runs
// stops for it.
std::optional<std::string> take_state(Monitor& monitor);

// Each returns false if nobody takes it any more, or its source cannot be read.
bool put_part(int to, const std::string& part);
// The memory of a machine, from this file.
bool put_memory(int to, const std::string& file);
// The memory of a clone, which QEMU, the process `pid`, has on top of the template's.
bool put_cloned_memory(int to, pid_t pid);

}  // namespace glovebox::microvm
