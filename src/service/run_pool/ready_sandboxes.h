// SPDX-License-Identifier: Apache-2.0
// ReadySandboxes: sandboxes made ahead of demand, of the kinds that are asked for. Nothing of a
// guest's has been in one, and it serves one run.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/sys/alarm.h"
#include "context/scarce_memory.h"
#include "sandbox/ready_sandbox.h"
#include "sandbox/tiers/tier.h"
#include "spec/limits.h"
#include "spec/mount.h"

namespace glovebox {

// What runs must have in common for the same sandboxes to serve them.
struct ReadyKind {
  TierWish tier{};
  // These as in SandboxSpec.
  Limits limits{};
  std::vector<Mount> mounts{};
  std::string home{kWorkspace};
  std::string user = "guest";
  // Where a runner waits, in a tier that has one; empty: none does.
  std::string directory{};

  friend bool operator==(const ReadyKind&, const ReadyKind&) = default;
};

// Makes one that waits. It is for the thread that makes it: its sandbox ends with that thread.
Result<ReadySandbox> make_ready(const ReadyKind& kind);

// Safe to use from several threads. What it hands out belongs to one thread at a time.
class ReadySandboxes {
 public:
  struct Bounds {
    // How many of a kind wait after a claim found none, and how many after that has happened again
    // and again.
    std::size_t first = 2;
    std::size_t of_kind = 8;
    // Each has some megabytes of its own.
    std::size_t all = 24;
    std::size_t kinds = 32;
    // After so long without a claim, none of a kind waits any more.
    std::chrono::seconds idle{60};
    // None waits longer: what a sandbox shows of the host is as old as the sandbox.
    std::chrono::seconds wait{300};
    // How long to wait after one that could not be made.
    std::chrono::seconds pause{60};
  };
  using Make = std::function<Result<ReadySandbox>(const ReadyKind& kind)>;

  // `is_scarce`: whether the host is short of memory.
  explicit ReadySandboxes(Bounds bounds,
                          Make make = make_ready,
                          std::function<bool()> is_scarce = memory_is_scarce)
      : bounds_(bounds), make_(std::move(make)), is_scarce_(std::move(is_scarce)) {}
  ReadySandboxes() : ReadySandboxes(Bounds()) {}
  ReadySandboxes(const ReadySandboxes&) = delete;
  ReadySandboxes& operator=(const ReadySandboxes&) = delete;
  ~ReadySandboxes();  // Ends all that waits.

  // One of this kind, or null if none is ready. More are made for the next claims, until nobody has
  // asked for a while. A kind that cannot be made is tried again only after Bounds::pause, and only
  // if somebody asks.
  std::unique_ptr<ReadySandbox> claim(const ReadyKind& kind);

  // Keeps some of this kind waiting even if nobody asks, `first` among them. `full` is called, from
  // another thread, each time when enough of all kinds wait. Call this once, before anything else.
  void keep(const ReadyKind& kind, ReadySandbox first, std::function<void()> full);

  // Ends it, in the background.
  void discard(std::unique_ptr<ReadySandbox> used);

  // Ends all that waits, in the background. More are made when somebody asks.
  void empty();

  // How many wait.
  [[nodiscard]] std::size_t ready();

 private:
  using Clock = std::chrono::steady_clock;

  struct Waiting {
    std::unique_ptr<ReadySandbox> sandbox;
    Clock::time_point made;
  };
  struct Known {
    ReadyKind kind;
    std::deque<Waiting> ready{};  // The newest at the end.
    std::size_t wanted = 0;
    bool kept = false;
    Clock::time_point asked{};
    Clock::time_point retry{};  // None is made before.

    // If so, making more does not wait for a pause between claims.
    [[nodiscard]] bool few_left() const { return 2 * ready.size() < wanted; }
  };

  void keep_filled();
  void clear_away();
  static void wait(std::unique_lock<std::mutex>& lock,
                   const sys::Alarm& alarm,
                   Clock::time_point until);
  // These need `mutex_`.
  Known& known(const ReadyKind& kind);
  void start_threads();
  void bury(std::unique_ptr<ReadySandbox> used);
  [[nodiscard]] Clock::time_point clear_at() const;
  void let_go(Known& known, std::size_t most, Clock::time_point made_before);
  void shrink(Clock::time_point now);
  Known* next_to_make(Clock::time_point now);
  [[nodiscard]] bool is_full() const;
  void make_one(std::unique_lock<std::mutex>& lock, const ReadyKind& kind);

  const Bounds bounds_;
  const Make make_;
  const std::function<bool()> is_scarce_;
  std::function<void()> full_{};
  std::mutex mutex_;
  // When either thread looks next. A claim only sets them, so that the thread that claims has the
  // processors to itself.
  sys::Alarm making_;
  sys::Alarm clearing_;
  std::list<Known> known_;  // The one asked for last in front.
  std::deque<std::unique_ptr<ReadySandbox>> discarded_;
  std::size_t ready_ = 0;
  Clock::time_point last_claim_{};
  bool scarce_ = false;  // The host's memory, as of `looked_`.
  Clock::time_point looked_{};
  bool stopping_ = false;
  std::thread maker_;
  std::thread clearer_;
};

}  // namespace glovebox
