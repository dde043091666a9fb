// SPDX-License-Identifier: Apache-2.0
// Forking a process that libc knows, without libc's fork(3): that cannot be told a cgroup.
#pragma once

namespace glovebox::zygote {

// fork(2) with CLONE_INTO_CGROUP when `cgroup_fd` is a v2 group. Answers the child's pid in the
// caller's pid namespace, 0 in the child, or a negative errno. `pidfd` may be null.
//
// As after fork(3), libc's idea of its own thread holds in the child: the kernel writes the new
// thread id where libc keeps it (PR_GET_TID_ADDRESS), and the list of robust mutexes is registered
// again. Handlers of pthread_atfork(3) are not run; the caller has one thread.
long fork_process(int cgroup_fd, int* pidfd);

}  // namespace glovebox::zygote
