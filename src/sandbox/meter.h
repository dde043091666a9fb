// SPDX-License-Identifier: Apache-2.0
// Meter: what a sandbox uses and what it was refused, as counted by whatever limits it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace glovebox {

// Empty if nobody counts. Any thread may ask.
class Meter {
 public:
  virtual ~Meter() = default;

  [[nodiscard]] virtual std::optional<std::chrono::microseconds> cpu_time() const = 0;
  [[nodiscard]] virtual std::optional<Bytes> memory_peak() const = 0;
  [[nodiscard]] virtual std::optional<Bytes> memory_now() const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> pids_peak() const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> pids_now() const = 0;
  // How often a process was killed because memory ran out, and how often none could be made.
  [[nodiscard]] virtual std::uint64_t oom_kills() const = 0;
  [[nodiscard]] virtual std::uint64_t pids_refusals() const = 0;

  // Asks for memory to be taken back without killing anything: caches of files, and with swap the
  // rest. Best effort; takes at most about a second.
  virtual void reclaim() const = 0;

 protected:
  Meter() = default;
  Meter(const Meter&) = default;
  Meter& operator=(const Meter&) = default;
};

}  // namespace glovebox
