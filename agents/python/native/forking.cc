// SPDX-License-Identifier: Apache-2.0
#include "forking.h"

#include <dlfcn.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

namespace glovebox::zygote {
namespace {

using sys::raw;

// What the kernel knows of a thread for libc. A process that shares its parent's memory has none of
// it, nor has a process that it forks.
class Registration {
 public:
  static long read(Registration& registration) {
    registration.offset_ =
        static_cast<const std::ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
    registration.size_ = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
    (void)raw(SYS_get_robust_list, 0, &registration.robust_list_, &registration.robust_size_);
    return raw(SYS_prctl, PR_GET_TID_ADDRESS, &registration.tid_address_, 0, 0, 0);
  }

  // Where libc keeps the number of its thread.
  [[nodiscard]] int* tid_address() const { return tid_address_; }

  // In the fork.
  void renew() const {
    if (robust_size_ != 0) {
      (void)raw(SYS_set_robust_list, robust_list_, robust_size_);
    }
    if (offset_ != nullptr && size_ != nullptr && *size_ != 0) {
      constexpr std::size_t kFirstSize = 32;
      constexpr std::uint32_t kSignature = 0x53053053;
      (void)raw(SYS_rseq, static_cast<char*>(__builtin_thread_pointer()) + *offset_, kFirstSize, 0,
                kSignature);
    }
  }

 private:
  int* tid_address_ = nullptr;
  void* robust_list_ = nullptr;
  std::size_t robust_size_ = 0;
  // Restartable sequences (rseq(2)), from glibc 2.35 on: where from the thread pointer, how many.
  const std::ptrdiff_t* offset_ = nullptr;
  const unsigned* size_ = nullptr;
};

}  // namespace

long fork_into(int warden, int cgroup_fd) {
  Registration registration;
  if (const long r = Registration::read(registration); r < 0) {
    return r;
  }
  abi::CloneArgs arguments{};
  // Our own child, not one of the process in between; like that one, it ends with SIGCHLD.
  arguments.flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  arguments.child_tid = reinterpret_cast<std::uint64_t>(registration.tid_address());
  if (cgroup_fd >= 0) {
    arguments.flags |= abi::kCloneIntoCgroup;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  volatile long result = -ECANCELED;
  // Entering a pid namespace takes power over one's own user namespace as well, which we do not
  // have; a process in between, which enters the sandbox's, does. It borrows our memory meanwhile.
  // NOLINTNEXTLINE(bugprone-unsafe-functions): posix_spawn(3) starts programs only.
  const pid_t between = ::vfork();
  if (between < 0) {
    return -errno;
  }
  if (between == 0) {
    long forked = raw(SYS_setns, warden, CLONE_NEWUSER | CLONE_NEWPID);
    if (forked >= 0) {
      forked = raw(SYS_clone3, &arguments, sizeof arguments);
    }
    if (forked == 0) {
      registration.renew();
      return 0;
    }
    result = forked;
    ::_exit(0);
  }
  while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return result;
}

}  // namespace glovebox::zygote
