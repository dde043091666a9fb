// SPDX-License-Identifier: Apache-2.0
#include "warden/filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/sys/raw.h"

namespace glovebox::warden {
namespace {

// What the warden's loop, its file work and libc's malloc and fork call. The most frequent first:
// the list is searched from its beginning.
constexpr std::array<std::uint32_t, 52> kAllowed = {
    SYS_poll,          SYS_read,         SYS_write,          SYS_sendto,       SYS_recvfrom,
    SYS_wait4,         SYS_sendmsg,      SYS_recvmsg,        SYS_close,        SYS_pipe2,
    SYS_fcntl,         SYS_fstat,        SYS_newfstatat,     SYS_openat2,      SYS_openat,
    SYS_getdents64,    SYS_lseek,        SYS_fstatfs,        SYS_mkdirat,      SYS_unlinkat,
    SYS_fchmod,        SYS_ftruncate,    SYS_utimensat,      SYS_dup2,         SYS_dup3,
    SYS_close_range,   SYS_timerfd_settime, SYS_timerfd_create, SYS_kill,      SYS_mmap,
    SYS_munmap,        SYS_mremap,       SYS_brk,            SYS_madvise,      SYS_mprotect,
    SYS_futex,         SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_getpid,
    SYS_gettid,        SYS_tgkill,       SYS_set_robust_list, SYS_set_tid_address, SYS_rseq,
    SYS_clock_gettime, SYS_getrandom,    SYS_restart_syscall, SYS_exit,        SYS_exit_group,
    SYS_symlinkat,     SYS_fsync};

// CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD: what libc's fork asks for.
constexpr std::uint32_t kForkFlags = 0x01200011;

consteval auto make_filter() {
  std::array<sock_filter, 2 * kAllowed.size() + 9> code{};
  std::size_t size = 0;
  const auto emit = [&](std::uint16_t op, std::uint32_t k, std::uint8_t jt = 0, std::uint8_t jf = 0) {
    code[size++] = sock_filter{op, jt, jf, k};
  };
  emit(BPF_LD | BPF_W | BPF_ABS, 4);  // seccomp_data.arch
  emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  emit(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  emit(BPF_LD | BPF_W | BPF_ABS, 0);  // seccomp_data.nr
  for (const std::uint32_t call : kAllowed) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  emit(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
  emit(BPF_LD | BPF_W | BPF_ABS, 16);  // seccomp_data.args[0]
  emit(BPF_JMP | BPF_JEQ | BPF_K, kForkFlags, 0, 1);
  emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  emit(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  return code;
}

constexpr auto kFilter = make_filter();

}  // namespace

Result<void> confine_self() {
  const struct {
    unsigned short length;
    const sock_filter* filter;
  } program = {static_cast<unsigned short>(kFilter.size()), kFilter.data()};
  if (const long r = sys::raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program); r < 0) {
    return Error::from_errno("seccomp", static_cast<int>(-r));
  }
  return {};
}

}  // namespace glovebox::warden
