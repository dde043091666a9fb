// SPDX-License-Identifier: Apache-2.0
// One of the two programs that a gVisor sandbox consists of, from clone to exec: its kernel, or the
// server that opens files of the host for it.
//
// As in plan.h: the child shares the parent's memory until its exec, so all pointers point into
// memory that the parent leaves as it is until then, and the code makes system calls only.
#pragma once

#include <cstdint>
#include <span>

#include "sandbox/child/plan.h"

namespace glovebox::child {

// Born as root in namespaces of its own, of users, mounts, processes, networks, IPC and names.
struct KernelPart {
  int go = -1;       // Where the parent says with one byte that the ids are mapped.
  int maker = -1;    // A pidfd of the parent, to notice its death.
  int failure = -1;  // Where a KernelPartFailure goes. Closes with the exec.
  int program = -1;
  std::span<const int> tasks;  // Of cgroups (v1) that it joins.

  // As in plan.h: the way out that is made in its network namespace, or 0 for none.
  std::uint16_t egress_port = 0;
  int way_out_to = -1;

  // Its root: a tmpfs with these, which then is read-only. Targets are relative to it.
  std::span<const char* const> directories;
  std::span<const char* const> files;  // Empty; targets of mounts.
  std::span<const Graft> grafts;
  std::span<const Bind> binds;  // On the grafts, too.

  std::uint64_t capabilities = 0;       // What it keeps, a bit for each.
  std::span<const sock_filter> filter;  // Installed before the one that it gives itself.
  std::span<const int> descriptors;     // Become 0, 1, 2 and so on; it has no others.
  const char* const* argv = nullptr;
  const char* const* environment = nullptr;
};

struct KernelPartFailure {
  SetupStep step = SetupStep::kNone;
  int error = 0;  // A positive errno.
};

// Runs the part (a `const KernelPart*`). Never returns. Requires: not more than 64 descriptors.
[[noreturn]] void enter_kernel_part(void* part) noexcept;

}  // namespace glovebox::child
