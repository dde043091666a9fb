// SPDX-License-Identifier: Apache-2.0
#include "archiver/filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/sys/raw.h"

namespace glovebox::archiver {
namespace {

// What moving bytes and files takes, and libc's heap. The most frequent first: the list is searched
// from its beginning.
constexpr std::array<std::uint32_t, 31> kAllowed = {
    SYS_read,      SYS_write,      SYS_openat2,      SYS_close,
    SYS_fstat,     SYS_newfstatat, SYS_lseek,        SYS_mkdirat,
    SYS_unlinkat,  SYS_symlinkat,  SYS_fchmod,       SYS_ftruncate,
    SYS_utimensat, SYS_openat,     SYS_getdents64,   SYS_fcntl,
    SYS_dup,       SYS_mmap,       SYS_munmap,       SYS_mremap,
    SYS_brk,       SYS_madvise,    SYS_mprotect,     SYS_futex,
    SYS_fsync,     SYS_getrandom,  SYS_rt_sigreturn, SYS_restart_syscall,
    SYS_exit,      SYS_exit_group, SYS_clock_gettime};

consteval auto make_filter() {
  std::array<sock_filter, 2 * kAllowed.size() + 5> code{};
  std::size_t size = 0;
  const auto emit = [&](std::uint16_t op, std::uint32_t k, std::uint8_t jt = 0,
                        std::uint8_t jf = 0) {
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

}  // namespace glovebox::archiver
