// SPDX-License-Identifier: Apache-2.0
// ExecutionLog: the events of one execution, for whoever listens now or comes back later.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::keeper {

// Safe to use from several threads.
class ExecutionLog {
 public:
  ExecutionLog();

  // One event as JSON. Beyond kMostBytes the oldest are forgotten; the verdict, which comes last,
  // holds head and tail of all output anyway.
  static constexpr std::size_t kMostBytes = 4UL << 20;
  void append(std::string_view event);

  // After it, nothing more comes. `lost` says why there is no verdict.
  void finish(std::optional<Error> lost = {});

  struct Next {
    std::string event;
    std::uint64_t missed = 0;  // Events before it that are forgotten.
  };
  // The event after the first `seen`, waiting for it until `deadline`; nothing when none came.
  // Raises `seen`. Use ended() to tell the end from silence.
  std::optional<Next> next(std::uint64_t& seen, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool ended(std::uint64_t seen) const;
  [[nodiscard]] std::optional<Error> lost() const;

  // Asks whoever executes to stop; cancel_fd() becomes readable.
  void cancel();
  [[nodiscard]] bool canceled() const;
  [[nodiscard]] int cancel_fd() const { return cancel_.get(); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> events_;
  std::uint64_t first_ = 0;  // The number of events_.front().
  std::size_t bytes_ = 0;
  bool finished_ = false;
  bool canceled_ = false;
  std::optional<Error> lost_;
  UniqueFd cancel_;
};

}  // namespace glovebox::keeper
