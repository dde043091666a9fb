// SPDX-License-Identifier: Apache-2.0
// System calls without libc: no errno, no locks, no allocation, no thread-local storage.
//
// For code that runs between clone and exec, and for calls that Debian 12's libc does not wrap.
// Each answers what the kernel answered: a value, or a negative errno.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#if !defined(__x86_64__)
#error "raw system calls are written for x86-64 only"
#endif

namespace glovebox::sys {

namespace detail {
template <typename T>
long word(T value) {
  // NOLINTNEXTLINE(google-readability-casting): pointers and integers both become a register.
  return (long)value;
}
}  // namespace detail

template <typename A = long,
          typename B = long,
          typename C = long,
          typename D = long,
          typename E = long,
          typename F = long>
long raw(long number, A a = 0, B b = 0, C c = 0, D d = 0, E e = 0, F f = 0) noexcept {
  long result = number;
  register long r10 asm("r10") = detail::word(d);
  register long r8 asm("r8") = detail::word(e);
  register long r9 asm("r9") = detail::word(f);
  asm volatile("syscall"
               : "+a"(result)
               : "D"(detail::word(a)), "S"(detail::word(b)), "d"(detail::word(c)), "r"(r10),
                 "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace glovebox::sys
