// SPDX-License-Identifier: Apache-2.0
// System call policies: data, compiled to seccomp-BPF while this program is compiled.
//
// A policy is a list of groups; a group says which answer its calls get, and why. Calls whose
// answer depends on an argument name a Check. What no group names gets the policy's default
// answer. Nothing is computed at run time: installing a policy is one system call, and the kernel
// finds each answer by a binary search (seccomp(2); kernel/seccomp.c caches constant answers).
//
// Choice of errno: ENOSYS for what programs try and do without, EPERM for privileged operations,
// EAFNOSUPPORT for socket families. Only calls that no honest program makes kill.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace glovebox::policy {

// A compiled filter, ready for seccomp(SECCOMP_SET_MODE_FILTER). Lives as long as the program.
using Filter = std::span<const sock_filter>;

// For code that an AI wrote: allows what the kernel gives an unprivileged process, except what
// reaches around the walls or has a bad history; unknown calls do not exist (ENOSYS).
Filter default_filter();

// The same for a guest that is root of its user namespace: with chroot.
Filter root_filter();

// The same for guests that make namespaces and mounts: guest_filter() does not go on top, because
// the sandboxes that guests bring install filters.
Filter nested_filter();

// Allows everything, with as many instructions as a filter can have, of which only the first is
// ever reached. The kernel bounds the instructions of all filters of a process together, so each of
// these leaves less room for others (kernel/seccomp.c, MAX_INSNS_PER_PATH): with kSpacers of them,
// guests have room for what sandboxes need, but not for filling net.core.bpf_jit_limit.
Filter spacer_filter();
inline constexpr int kSpacers = 7;

// The default if the guests' kernel is gVisor, which answers some calls differently from Linux.
Filter own_kernel_filter();

// The same for the landlock tier, which has no namespaces to lean on: no network sockets, no
// connect, no System V IPC or message queues.
Filter no_namespaces_filter();

// The same if the guest has the caller's own uid: no change of metadata by path.
Filter shared_user_filter();

// What a guest gets on top of the filter of the warden that starts it: no filters of its own.
Filter guest_filter();

// The default and a guest's in one, for the fork of a zygote.
Filter fork_filter();

// For a zygote, which puts forks of itself into sandboxes: the default, but with setns and clone3.
// Like any warden it may install stricter filters, but no listener.
Filter zygote_filter();

// On top of another one, if guests may not start what they have written: no mount and no Landlock
// rule covers a file in memory. So it must be made with MFD_NOEXEC_SEAL, which needs Linux 6.3 or
// later.
Filter no_memory_programs_filter();

// On top of another one, if no cgroup counts memory: refuses calls that keep memory which no
// process has mapped and no mount bounds.
Filter no_hidden_memory_filter();

// For compiled programs that need little: an allow-list, installed on top of the warden's filter in
// place of guest_filter().
Filter strict_filter();

// For the program that runs WebAssembly modules (sandbox/wasm/), in place of guest_filter(): an
// allow-list. The program itself puts the other two on top: before it reads a module, it gives up
// starting programs; before it runs the module, it gives up new code and filters.
Filter runner_filter();
Filter no_programs_filter();
Filter no_new_code_filter();

// Numbers of the calls in 64-bit mode that a policy answers with an errno, for tests and docs.
struct Refusal {
  int number;
  int error;
  std::string_view group;
};
std::span<const Refusal> default_refusals();

}  // namespace glovebox::policy
