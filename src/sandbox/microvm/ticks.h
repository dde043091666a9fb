// SPDX-License-Identifier: Apache-2.0
// How fast the processor's counter of ticks runs.
#pragma once

#include <time.h>
#include <x86intrin.h>

#include <cstdint>

namespace glovebox::microvm {

// In thousands a second, measured for some milliseconds. QEMU's emulated processors show the same
// counter, but a kernel that measures it at its boot, while the host is busy, is wrong by factors.
inline std::uint64_t ticks_per_ms() {
  struct Moment {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
  };
  const auto now = [] {
    Moment best;
    std::uint64_t shortest = ~0ULL;
    // Takes the reading that was interrupted least.
    for (int i = 0; i < 8; ++i) {
      timespec time{};
      const std::uint64_t before = __rdtsc();
      (void)::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
      const std::uint64_t after = __rdtsc();
      if (after - before < shortest) {
        shortest = after - before;
        best = {.ticks = before + shortest / 2,
                .ns = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                      static_cast<std::uint64_t>(time.tv_nsec)};
      }
    }
    return best;
  };
  const Moment first = now();
  const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
  (void)::nanosleep(&pause, nullptr);
  const Moment last = now();
  return (last.ticks - first.ticks) * 1'000'000U / (last.ns - first.ns);
}

}  // namespace glovebox::microvm
