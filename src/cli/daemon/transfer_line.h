// SPDX-License-Identifier: Apache-2.0
// TransferLine: how much was copied, in one line on a terminal, which disappears at the end.
#pragma once

#include <chrono>
#include <cstdint>

namespace glovebox::cli {

class TransferLine {
 public:
  // Shows nothing at all when not `enabled`.
  explicit TransferLine(bool enabled) : enabled_(enabled) {}
  TransferLine(const TransferLine&) = delete;
  TransferLine& operator=(const TransferLine&) = delete;
  ~TransferLine() { end(); }

  // How much there will be; 0: unknown.
  void begin(std::uint64_t whole) { whole_ = whole; }
  void add(std::uint64_t bytes);
  void end();

 private:
  using Clock = std::chrono::steady_clock;

  const bool enabled_;
  bool shown_ = false;
  std::uint64_t whole_ = 0;
  std::uint64_t had_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace glovebox::cli
