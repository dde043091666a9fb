// SPDX-License-Identifier: Apache-2.0
#include "forking.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

namespace glovebox::zygote {

long fork_process(int cgroup_fd, int* pidfd) {
  int* tid_address = nullptr;
  if (const long r = sys::raw(SYS_prctl, PR_GET_TID_ADDRESS, &tid_address, 0, 0, 0); r < 0) {
    return r;
  }
  void* robust_list = nullptr;
  std::size_t robust_size = 0;
  (void)sys::raw(SYS_get_robust_list, 0, &robust_list, &robust_size);
  abi::CloneArgs arguments{};
  arguments.flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  arguments.child_tid = reinterpret_cast<std::uint64_t>(tid_address);
  arguments.exit_signal = SIGCHLD;
  if (pidfd != nullptr) {
    arguments.flags |= CLONE_PIDFD;
    arguments.pidfd = reinterpret_cast<std::uint64_t>(pidfd);
  }
  if (cgroup_fd >= 0) {
    arguments.flags |= abi::kCloneIntoCgroup;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  const long pid = sys::raw(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0 && robust_size != 0) {
    (void)sys::raw(SYS_set_robust_list, robust_list, robust_size);
  }
  return pid;
}

}  // namespace glovebox::zygote
