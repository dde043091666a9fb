// SPDX-License-Identifier: Apache-2.0
// New processes that share their parent's memory until they call exec.
//
// Copying an address space, however small, costs more than all that happens in it before an exec.
// The price: the child has a stack but no thread-local storage of its own, so it may make system
// calls (base/sys/raw.h) and nothing else, and what it reads must stay as it is until its exec.
#pragma once

#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

// For functions that such a child calls: the calls that a sanitizer would put into them keep their
// records in thread-local storage, which here is the parent's.
#define GB_NO_SANITIZER [[gnu::no_sanitize("address", "thread", "undefined")]]

namespace glovebox::sys {

using ChildMain = void (*)(void*);

namespace detail {

// One call for clone and clone3, which differ in their arguments only. In the child, on its new
// stack, `main` is called with `argument` and must not return.
GB_NO_SANITIZER inline long spawn(
    long number, long first, long second, long third, ChildMain main, void* argument) noexcept {
  long result = number;
  register void* main_in asm("r12") = reinterpret_cast<void*>(main);
  register void* argument_in asm("r13") = argument;
  register long r10 asm("r10") = 0;
  register long r8 asm("r8") = 0;
  register long r9 asm("r9") = 0;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9), "r"(main_in),
        "r"(argument_in)
      : "rcx", "r11", "memory");
  return result;
}

}  // namespace detail

// clone(2). `flags` hold CLONE_VM and the signal of the child's end; `stack_top` is aligned to 16
// bytes. Answers the pid, or a negative errno.
GB_NO_SANITIZER inline long clone_on_stack(unsigned long flags,
                                           void* stack_top,
                                           ChildMain main,
                                           void* argument) noexcept {
  return detail::spawn(SYS_clone, static_cast<long>(flags), reinterpret_cast<long>(stack_top), 0,
                       main, argument);
}

// False if a system call filter refuses clone3(2), as those of container engines do.
inline bool has_clone3() {
  static const bool kKnown = sys::raw(SYS_clone3, nullptr, 0) != -ENOSYS;
  return kKnown;
}

// Resets the signals that the parent handles or ignores. An exec would clear handlers, but keep
// ignored signals ignored.
GB_NO_SANITIZER inline void signals_by_default() noexcept {
  constexpr int kSignals = 64;
  // SIG_DFL is zero, and so is the rest of an action that has no handler.
  constexpr std::array<std::uint64_t, 4> kByDefault{};
  for (int number = 1; number <= kSignals; ++number) {
    (void)raw(SYS_rt_sigaction, number, kByDefault.data(), nullptr, kSignals / 8);
  }
}

// clone3(2), with CLONE_VM and a stack in its arguments. If that is refused, uses clone(2), unless
// a cgroup to be born in needs clone3; the child then keeps its parent's signal handlers, and
// clears them itself (child::Plan::clear_handlers).
template <typename Arguments>
GB_NO_SANITIZER long clone3_on_stack(const Arguments& arguments,
                                     ChildMain main,
                                     void* argument) noexcept {
  const long result = detail::spawn(SYS_clone3, reinterpret_cast<long>(&arguments),
                                    sizeof arguments, 0, main, argument);
  const std::uint64_t flags = arguments.flags & ~abi::kCloneClearSighand;
  if (result != -ENOSYS || flags > UINT32_MAX) {
    return result;
  }
  // clone(2) stores the pidfd where it would store the child's number otherwise.
  return detail::spawn(SYS_clone, static_cast<long>(flags | arguments.exit_signal),
                       static_cast<long>(arguments.stack + arguments.stack_size),
                       static_cast<long>(arguments.pidfd), main, argument);
}

}  // namespace glovebox::sys
