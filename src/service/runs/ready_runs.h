// SPDX-License-Identifier: Apache-2.0
// ReadyRuns: sandboxes in which a program is loaded and waits for its arguments, made ahead of the
// next run of what was run before (sandbox/ready_run.h). Each serves one run of one tenant.
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
#include <string_view>
#include <thread>

#include "base/result.h"
#include "sandbox/ready_run.h"
#include "sandbox/tiers/tier.h"
#include "spec/command.h"
#include "spec/limits.h"

namespace glovebox {

// What runs have in common that can be served by the same sandboxes.
struct ReadyKind {
  std::string tenant{};
  TierWish tier{};
  Limits limits{};
  Command command{};        // Without arguments.
  std::string file_name{};  // Of the program in the workspace.
  std::string digest{};  // Of a program that is loaded ahead; empty where each run brings its own.

  friend bool operator==(const ReadyKind&, const ReadyKind&) = default;
};

// Safe to use from several threads. What it hands out belongs to one thread at a time.
class ReadyRuns {
 public:
  // How long one waits for its run at most: ReadyRun::start() is to be told.
  static constexpr std::chrono::seconds kLongestWait{60};

  // One that is ready; from any thread.
  using Make = std::function<Result<ReadyRun>()>;

  ReadyRuns() = default;
  ReadyRuns(const ReadyRuns&) = delete;
  ReadyRuns& operator=(const ReadyRuns&) = delete;
  ~ReadyRuns();  // Ends all that waits.

  // One of this kind, or none where none is ready. Who asks for the second time gets more of them
  // made by `make`, ahead of the next time, until nobody has asked for a while. What cannot be made
  // ready is not tried again for a minute.
  std::unique_ptr<ReadyRun> claim(const ReadyKind& kind, const std::function<Make()>& make);

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
    Make make{};
    std::deque<Waiting> ready{};
    std::size_t wanted = 0;
    Clock::time_point asked{};
    Clock::time_point retry{};  // Not made before.
  };

  void start_threads();
  void keep_filled();
  void clear_away();
  // These need `mutex_`.
  Known& known(const ReadyKind& kind);
  void forget(std::list<Known>::iterator which);
  void shrink(Clock::time_point now);
  [[nodiscard]] std::size_t waiting_of(std::string_view tenant) const;
  Known* next_to_make(Clock::time_point now);
  void make_one(std::unique_lock<std::mutex>& lock, Known& which);

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
