// SPDX-License-Identifier: Apache-2.0
// What a machine is while it stands still, written in the form of template_files.h: the state of
// its devices, the names of files that it knows, and its memory.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sandbox/microvm/monitor.h"

namespace glovebox::microvm {

// The state of the machine's devices; nothing where QEMU does not give it. A machine that runs
// stops for it.
std::optional<std::string> take_state(Monitor& monitor);

// Each is false where nobody takes it any more, or what it is made of cannot be read.
bool put_part(int to, const std::string& part);
// The memory of a machine that is the content of this file.
bool put_memory(int to, const std::string& file);
// The memory of a clone, which QEMU, the process `pid`, has over that of the template.
bool put_cloned_memory(int to, pid_t pid);

}  // namespace glovebox::microvm
