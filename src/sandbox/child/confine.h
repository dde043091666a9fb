// SPDX-License-Identifier: Apache-2.0
// The last walls that a process puts around itself: no privileges, Landlock, a system call filter.
//
// Both ways into a sandbox end here: the set-up of its first process (enter.cc), and a context that
// was forked from a zygote. As there: system calls only, no allocation, no locks. Everything
// returns zero or a negative errno.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

namespace glovebox::child {

// What Landlock allows below a path, which is absolute in the process's own root.
struct AccessRule {
  const char* path;
  std::uint64_t access;
  bool optional;
};

struct Landlock {
  int abi = 0;  // 0: none.
  std::uint64_t fs = 0;
  std::uint64_t scoped = 0;
  std::span<const AccessRule> rules;
};

// Makes the privileges that a process has the last that it will ever have: no exec and no change
// of user brings another one (capabilities(7), "The securebits flags").
long lock_privileges() noexcept;

// Gives up all capabilities. Call lock_privileges() before.
long drop_capabilities() noexcept;

// For root of a user namespace: no exec and no change of user brings any other capability than
// `kept`, a bit for each. The process itself keeps these and CAP_SYS_ADMIN, also in what it
// executes as long as it passes CAP_SYS_ADMIN on as inheritable: without no_new_privs the
// kernel demands it for installing a filter (seccomp(2)).
long limit_privileges(std::uint64_t kept) noexcept;

// For root of a user namespace that executes a program of ours: it has `kept`, a bit for each, and
// nothing that it executes gets another one.
long keep_capabilities(std::uint64_t kept) noexcept;

// `programs` are descriptors of files outside the rules' paths that may be executed all the same.
// `detail` counts the rules that were added.
long restrict_files(const Landlock& landlock,
                    std::span<const int> programs,
                    std::uint32_t& detail) noexcept;

long install_filter(std::span<const sock_filter> filter) noexcept;

// Returns the listener of the filter (seccomp_unotify(2)), which an exec closes. If the kernel
// supports it, a process that waits for the listener's answer is interrupted only by being killed.
long install_watched_filter(std::span<const sock_filter> filter) noexcept;

}  // namespace glovebox::child
