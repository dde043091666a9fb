// SPDX-License-Identifier: Apache-2.0
// MemoryPressure: whether this machine has memory for one more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace glovebox {

struct MemoryState {
  Bytes total;
  Bytes available;
  // The part of the last ten seconds, in percent, in which all tasks waited for memory; absent
  // if the kernel does not say (Documentation/accounting/psi.rst).
  std::optional<double> stalled;
};

// Reads the texts of /proc/meminfo and /proc/pressure/memory; the latter may be empty. Nothing if
// meminfo does not say what is available.
std::optional<MemoryState> parse_memory_state(std::string_view meminfo, std::string_view pressure);

// Of this machine, now. Takes some tens of microseconds.
std::optional<MemoryState> read_memory_state();

struct MemoryBounds {
  // Left for what runs already: the larger of both.
  double least_part = 0.05;
  Bytes least = 128_MiB;
  double most_stalled = 20.0;
};

// Safe to use from any thread.
class MemoryPressure {
 public:
  using Probe = std::function<std::optional<MemoryState>()>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  MemoryPressure(MemoryBounds bounds, Probe probe, Clock clock);

  // kExhausted, with the seconds to wait (Error::retry_after), when memory would be short once
  // `wanted` more of it is used. If the machine does not tell, nothing is refused. Looks anew four
  // times a second at most.
  Result<void> check(Bytes wanted = {});

 private:
  std::optional<MemoryState> state();

  MemoryBounds bounds_;
  Probe probe_;
  Clock clock_;
  std::mutex mutex_;
  std::optional<MemoryState> seen_;
  std::optional<std::chrono::steady_clock::time_point> seen_at_;
};

}  // namespace glovebox
