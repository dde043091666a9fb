// SPDX-License-Identifier: Apache-2.0
// ReadyRuns: sandboxes in which a runner waits to be told what to run (sandbox/ready_run.h), made
// ahead of runs like those before. Nothing of a guest's has been in one, and it serves one run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "sandbox/ready_run.h"
#include "sandbox/tiers/tier.h"
#include "spec/limits.h"

namespace glovebox {

// What runs have in common that the same sandboxes can serve.
struct ReadyKind {
  TierWish tier{};
  Limits limits{};
  std::string home{};  // Both as in SandboxSpec.
  std::string user{};
  std::string directory{};  // Where the program runs.

  friend bool operator==(const ReadyKind&, const ReadyKind&) = default;
};

// One that waits, made now. It is for the thread that makes it, with which its sandbox ends.
Result<ReadyRun> make_ready(const ReadyKind& kind);

// Safe to use from several threads. What it hands out belongs to one thread at a time.
class ReadyRuns {
 public:
  using Make = std::function<Result<ReadyRun>(const ReadyKind& kind)>;

  explicit ReadyRuns(Make make = make_ready) : make_(std::move(make)) {}
  ReadyRuns(const ReadyRuns&) = delete;
  ReadyRuns& operator=(const ReadyRuns&) = delete;
  ~ReadyRuns();  // Ends all that waits.

  // One of this kind, or none where none is ready. More are made ahead of the next time, until
  // nobody has asked for a while. A kind that cannot be made is not tried again for a minute.
  std::unique_ptr<ReadyRun> claim(const ReadyKind& kind);

  // Ends it, in the background.
  void discard(std::unique_ptr<ReadyRun> used);

  // How many wait.
  [[nodiscard]] std::size_t ready();

 private:
  using Clock = std::chrono::steady_clock;

  struct Waiting {
    std::unique_ptr<ReadyRun> run;
    Clock::time_point made;
  };
  struct Known {
    ReadyKind kind;
    std::deque<Waiting> ready{};
    std::size_t wanted = 0;
    Clock::time_point asked{};
    Clock::time_point retry{};  // Not made before.
  };

  void keep_filled();
  void clear_away();
  // These need `mutex_`.
  Known& known(const ReadyKind& kind);
  void start_threads();
  void let_go(Known& known, std::size_t most, Clock::time_point made_before);
  void shrink(Clock::time_point now);
  Known* next_to_make(Clock::time_point now);
  void make_one(std::unique_lock<std::mutex>& lock, const ReadyKind& kind);

  const Make make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable discarded_one_;
  std::list<Known> known_;  // The one asked for last in front.
  std::deque<std::unique_ptr<ReadyRun>> discarded_;
  std::size_t ready_ = 0;
  bool stopping_ = false;
  std::thread maker_;
  std::thread clearer_;
};

}  // namespace glovebox
