// SPDX-License-Identifier: Apache-2.0
// For tests of filters: what the kernel would answer a call.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "sandbox/policy/policy.h"

namespace glovebox::policy {

// Junk for the upper half of an argument of which the kernel reads only the lower half.
inline constexpr std::uint64_t kJunk = 0xdeadbeefULL << 32;

struct Call {
  std::uint32_t number;
  std::array<std::uint64_t, 6> arguments{};
  std::uint32_t arch = AUDIT_ARCH_X86_64;
};

inline Call call(long number, std::array<std::uint64_t, 6> arguments = {}) {
  return {static_cast<std::uint32_t>(number), arguments};
}

// What the kernel would answer: an interpreter of the instructions that the compiler emits.
// Anything else, or a jump past the end, answers kBroken.
inline constexpr std::uint32_t kBroken = 0xbad;

inline std::uint32_t answer(Filter filter, const Call& call) {
  seccomp_data data{};
  data.nr = static_cast<int>(call.number);
  data.arch = call.arch;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    data.args[i] = call.arguments[i];
  }
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < filter.size(); ++at) {
    const sock_filter& step = filter[at];
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (step.k % 4 != 0 || step.k + 4 > sizeof(data)) {
          return kBroken;
        }
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, 4);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        break;
      case BPF_JMP | BPF_JA:
        at += step.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += accumulator == step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += accumulator >= step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (accumulator & step.k) != 0 ? step.jt : step.jf;
        break;
      case BPF_RET | BPF_K:
        return step.k;
      default:
        return kBroken;
    }
  }
  return kBroken;
}

constexpr std::uint32_t refused(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

}  // namespace glovebox::policy
