// SPDX-License-Identifier: Apache-2.0
// System call filters that name the few calls a program of ours may make (seccomp(2)).
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace glovebox::confined {

// What libc needs to have a heap, to end, and to continue after a stop.
inline constexpr std::array<std::uint32_t, 13> kMemoryAndEnd = {
    SYS_mmap,         SYS_munmap,          SYS_mremap,       SYS_brk,        SYS_madvise,
    SYS_mprotect,     SYS_futex,           SYS_exit,         SYS_exit_group, SYS_getrandom,
    SYS_rt_sigreturn, SYS_restart_syscall, SYS_clock_gettime};

// The two lists as one, the first in front.
template <std::size_t N, std::size_t M>
consteval std::array<std::uint32_t, N + M> join(const std::array<std::uint32_t, N>& first,
                                                const std::array<std::uint32_t, M>& second) {
  std::array<std::uint32_t, N + M> all{};
  for (std::size_t i = 0; i < N + M; ++i) {
    all[i] = i < N ? first[i] : second[i - N];
  }
  return all;
}

// A filter that lets these calls pass and kills the process at any other. It searches the list from
// its beginning: put the most frequent calls first.
template <std::size_t N>
consteval std::array<sock_filter, 2 * N + 5> allow_only(
    const std::array<std::uint32_t, N>& allowed) {
  std::array<sock_filter, 2 * N + 5> code{};
  std::size_t size = 0;
  const auto emit = [&](std::uint16_t op, std::uint32_t k, std::uint8_t jt = 0,
                        std::uint8_t jf = 0) {
    code[size++] = sock_filter{op, jt, jf, k};
  };
  emit(BPF_LD | BPF_W | BPF_ABS, 4);  // seccomp_data.arch
  emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  emit(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  emit(BPF_LD | BPF_W | BPF_ABS, 0);  // seccomp_data.nr
  for (const std::uint32_t call : allowed) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  emit(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  return code;
}

// Puts this process under the filter, irrevocably. Requires no_new_privs, or CAP_SYS_ADMIN.
Result<void> install_filter(std::span<const sock_filter> filter);

}  // namespace glovebox::confined
