// SPDX-License-Identifier: Apache-2.0
// What the tiers that run on the host's own kernel share: finding the warden's program, cloning
// into a plan, asking the kernel what it has.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/child/plan.h"

namespace glovebox {

// The program file of the warden: beside our own program, in ../libexec/glovebox, or where
// GLOVEBOX_WARDEN says. Opened once in a process.
Result<int> warden_program();

// A new process that runs `plan`. `flags` are CLONE_… flags of clone(2); `cgroup_fd` is a v2 group
// to be born in, or -1. Sets the plan's time of cloning.
//
// Safe in a program with threads: the child makes system calls only.
struct Cloned {
  pid_t pid = 0;
  UniqueFd pidfd;
};
Result<Cloned> clone_into(child::Plan& plan, std::uint64_t flags, int cgroup_fd);

// The Landlock ABI of this kernel; 0 when it has none or it is switched off.
int landlock_abi();

// All file system rights that ABI knows.
std::uint64_t landlock_fs_rights(int abi);

}  // namespace glovebox
