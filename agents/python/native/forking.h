// SPDX-License-Identifier: Apache-2.0
// Forking a process that libc knows into a sandbox, without libc's fork(3).
#pragma once

namespace glovebox::zygote {

// Forks into the sandbox of the warden whose pidfd is `warden`: the child is born in its pid
// namespace with all capabilities over its user namespace, and in `cgroup_fd` if that is a v2
// group. Answers the child's pid in the caller's pid namespace, 0 in the child, or a negative
// errno.
//
// Requires that the caller's user owns that user namespace, which is one below its own; it needs no
// capability. As after fork(3), libc's idea of its own thread holds in the child. Handlers of
// pthread_atfork(3) are not run; the caller has one thread.
long fork_into(int warden, int cgroup_fd);

}  // namespace glovebox::zygote
