// SPDX-License-Identifier: Apache-2.0
// ContextPool: sandboxes with a context in them, made ahead of demand.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "context/context.h"
#include "context/context_starter.h"
#include "context/live_context.h"
#include "context/zygote_source.h"
#include "sandbox/sandbox.h"

namespace glovebox {

struct PoolSpec {
  // Contexts are forks of it, unless `context` has a command that starts them, each in a sandbox of
  // its own (ContextStarter); of a zygote, only `modules` is used then.
  ZygoteSpec zygote;
  // Holds the zygote if several pools share one. Empty: the pool has its own.
  std::shared_ptr<ZygoteSource> source{};
  SandboxSpec sandbox;                                      // `within` is set by the pool.
  TierWish tier = tier_that(&TierTraits::can_hold_realms);  // Of the sandboxes.
  ContextSpec context;
  // Run in a context before it waits to be claimed, without a trace in it: the first use of a
  // library costs more than the others. Empty: nothing.
  std::string warm_up;
  // How many wait: at least this many, more while claims come quickly, none while the host is short
  // of memory.
  std::size_t least = 2;
  std::size_t most = 64;
  // After this long without a claim, one fewer waits.
  std::chrono::seconds idle{10};
  // When a zygote is replaced. A context that has waited for that `age` is replaced, too.
  ZygoteWear wear{};
  // Called with a sentence about what has died or cannot be made, from any thread. May be empty.
  std::function<void(std::string_view line)> tell{};
};

// Safe to use from several threads. What it hands out belongs to one thread at a time.
class ContextPool {
 public:
  // Starts the first zygote, if there must be one, and the threads that keep the pool filled and
  // end what was used.
  static Result<std::unique_ptr<ContextPool>> start(PoolSpec spec);

  ContextPool(const ContextPool&) = delete;
  ContextPool& operator=(const ContextPool&) = delete;
  ~ContextPool();  // Ends all that waits. What was claimed lives on with its owner.

  // One that nobody has used: from the pool, or made now when the pool is empty. It has no context
  // if that would have to be started first: its sandbox is there sooner.
  Result<LiveContext> claim();

  // Ends it, in the background.
  void discard(LiveContext used);

  // How many wait now, and how many should.
  struct Depth {
    std::size_t ready = 0;
    std::size_t wanted = 0;
  };
  [[nodiscard]] Depth depth();

  // As Sandbox::end_hoarders(), for the realm of the zygote that new contexts come from.
  void end_hoarders();

  // Waits until `count` are ready or `deadline` has passed; returns how many are.
  std::size_t await_ready(std::size_t count, std::chrono::steady_clock::time_point deadline);

 private:
  using Clock = std::chrono::steady_clock;

  struct Waiting {
    LiveContext live;
    Clock::time_point made;
  };

  explicit ContextPool(PoolSpec spec);
  Result<LiveContext> fork();
  void tell(std::string_view line) const;
  // What the threads do until the pool stops: one keeps the pool filled, another helps it while
  // claims come faster than contexts are made, one ends what was used.
  void work(void (ContextPool::*task)());
  void keep_filled();
  void help_out();
  void clear_away();
  // These need `mutex_`. make_one() releases it meanwhile.
  [[nodiscard]] bool is_hurried() const;
  // Nothing is made ahead before then: the last claimer has the processors to itself.
  [[nodiscard]] Clock::time_point quiet_until() const;
  void make_one(std::unique_lock<std::mutex>& lock);
  void adapt(Clock::time_point now);

  PoolSpec spec_;
  const std::unique_ptr<ContextStarter> starter_;  // None: contexts are forks of the zygote.
  std::mutex mutex_;
  // A claimer has its first execution to itself, so a claim wakes nobody in vain: the first of
  // these is for the thread that keeps the pool filled, the others are for the threads that their
  // names say.
  std::condition_variable changed_;
  std::condition_variable help_wanted_;
  std::condition_variable discarded_one_;
  std::condition_variable made_one_;
  std::condition_variable stopped_;
  std::deque<Waiting> ready_;  // The newest at the end.
  std::deque<LiveContext> discarded_;
  std::size_t wanted_ = 0;
  std::size_t making_ = 0;
  bool scarce_ = false;  // The host's memory, as of `looked_`.
  Clock::time_point looked_{};
  Clock::time_point last_claim_{};
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace glovebox
