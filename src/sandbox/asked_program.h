// SPDX-License-Identifier: Apache-2.0
// What a process that waits in execve(2) or execveat(2) has asked for, read from its memory.
#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <string>

#include "sandbox/guest_acts.h"

namespace glovebox {

// At most 256 bytes of the path, and 32 arguments of 1 KiB together. Other threads of the guest can
// write to that memory before the kernel reads it: what starts may be something else. The caller
// checks afterwards that the process is the one that asked (SECCOMP_IOCTL_NOTIF_ID_VALID).
GuestAct read_asked_program(pid_t pid, const seccomp_data& call);

// The beginning of what a process calls itself (proc_pid_comm(5)).
std::string name_of_process(pid_t pid);

}  // namespace glovebox
