// SPDX-License-Identifier: Apache-2.0
// ExecutionLog: the events of one execution, for callers that listen now or come back later.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/keeper/kept_memory.h"

namespace glovebox::keeper {

// Safe to use from several threads.
class ExecutionLog final : public KeptMemory::Holder {
 public:
  explicit ExecutionLog(std::shared_ptr<KeptMemory> memory);
  ExecutionLog(const ExecutionLog&) = delete;
  ExecutionLog& operator=(const ExecutionLog&) = delete;
  ~ExecutionLog() = default;

  // One event as JSON. Beyond kMostBytes the oldest are forgotten; the verdict, which comes last,
  // holds head and tail of all output anyway. Once it is finished and nobody reads it, all of it
  // may go when the sandbox's memory is wanted for something else.
  static constexpr std::size_t kMostBytes = 4UL << 20;
  void append(std::string_view event);

  // Nothing more comes after this. `lost` says why there is no verdict.
  void finish(std::optional<Error> lost = {});
  [[nodiscard]] bool finished() const;
  // It is finished, and there never was an event.
  [[nodiscard]] bool said_nothing() const;
  // Why there is no verdict, or why it is no longer kept.
  [[nodiscard]] std::optional<Error> lost() const;

  struct Next {
    std::string event;
    std::uint64_t missed = 0;  // Events before it that are forgotten.
  };
  // A reader's place in the log, starting at its beginning. One thread.
  class Reader {
   public:
    explicit Reader(std::shared_ptr<ExecutionLog> log);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();

    // The next event, waiting for it until `deadline`; nothing when none came. Use ended() to tell
    // the end from silence.
    std::optional<Next> next(std::chrono::steady_clock::time_point deadline);
    [[nodiscard]] bool ended() const;
    // Bytes that are there and not read yet.
    [[nodiscard]] std::size_t behind() const;
    [[nodiscard]] const ExecutionLog& log() const { return *log_; }

   private:
    const std::shared_ptr<ExecutionLog> log_;
    std::uint64_t seen_ = 0;    // Events.
    std::uint64_t passed_ = 0;  // Bytes.
  };

  // Asks the execution to stop; cancel_fd() becomes readable. It is open until finish().
  void cancel();
  [[nodiscard]] bool canceled() const;
  [[nodiscard]] int cancel_fd() const { return cancel_.get(); }

  [[nodiscard]] std::optional<std::uint64_t> oldest() const override;
  void drop_oldest() override;

 private:
  struct Event {
    std::string text;
    std::uint64_t end = 0;  // In bytes from the beginning of all events.
  };
  // Both require the lock.
  [[nodiscard]] std::uint64_t count() const { return first_ + events_.size(); }
  void forget_first();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  std::uint64_t first_ = 0;  // The number of events_.front().
  std::uint64_t total_ = 0;  // Bytes of all events that ever were.
  std::size_t bytes_ = 0;    // Of those that are kept.
  std::uint64_t stamp_ = 0;
  std::size_t readers_ = 0;
  bool finished_ = false;
  bool canceled_ = false;
  std::optional<Error> lost_;
  UniqueFd cancel_;
  KeptMemory::Share share_;
};

}  // namespace glovebox::keeper
