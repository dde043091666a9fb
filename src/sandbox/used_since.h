// SPDX-License-Identifier: Apache-2.0
// UsedSince: what a sandbox has used since a moment, and which of its limits it ran into: the
// counters are those of the whole sandbox, so the share of one run is a difference.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sandbox/hoard_watch.h"
#include "sandbox/sandbox.h"

namespace glovebox {

class UsedSince {
 public:
  // Since now. `unused`: nothing has run in it, so all counters are zero and need not be read. The
  // sandbox must outlive it.
  explicit UsedSince(const Sandbox& sandbox, bool unused = false);

  // Nothing if nobody counts.
  [[nodiscard]] std::optional<std::chrono::microseconds> cpu() const;
  // Also true if it was a process that the guest had started, or a call of it that failed.
  [[nodiscard]] bool ran_out_of_memory() const;
  [[nodiscard]] bool ran_out_of_pids() const;
  // The limits on hoards that were enforced, by name.
  [[nodiscard]] std::vector<std::string_view> hoards() const;

 private:
  const Sandbox& sandbox_;
  std::chrono::microseconds cpu_{0};
  std::uint64_t oom_kills_ = 0;
  std::uint64_t pids_refusals_ = 0;
  HoardWatch::Kills hoards_{};
};

}  // namespace glovebox
