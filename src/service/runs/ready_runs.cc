// SPDX-License-Identifier: Apache-2.0
#include "service/runs/ready_runs.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "context/scarce_memory.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// Without being asked for so long, none of a kind waits any more.
constexpr auto kIdle = 60s;
// How long one waits for its run at most.
constexpr auto kLongestWait = 300s;
// How long a runner takes to start at most, on a machine that is busy.
constexpr auto kPatience = 10s;
// After one that could not be made.
constexpr auto kPause = 60s;
// Who just claimed has the processors to itself, unless there are few left.
constexpr auto kSettle = 5ms;
constexpr auto kRest = 1s;

// Each has some megabytes of its own.
constexpr std::size_t kMostOfKind = 8;
constexpr std::size_t kMost = 24;
constexpr std::size_t kMostKinds = 32;

}  // namespace

Result<ReadyRun> make_ready(const ReadyKind& kind) {
  SandboxSpec spec;
  spec.limits = kind.limits;
  spec.home = kind.home;
  spec.user = kind.user;
  return ReadyRun::start(GB_TRY(Sandbox::create(spec, kind.tier)), kind.directory,
                         {.limits = kind.limits}, kLongestWait, kPatience);
}

ReadyRuns::~ReadyRuns() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  discarded_one_.notify_all();
  for (std::thread* const thread : {&maker_, &clearer_}) {
    if (thread->joinable()) {
      thread->join();
    }
  }
}

std::unique_ptr<ReadyRun> ReadyRuns::claim(const ReadyKind& kind) {
  const Clock::time_point now = Clock::now();
  std::unique_ptr<ReadyRun> claimed;
  {
    const std::scoped_lock lock(mutex_);
    Known& found = known(kind);
    found.asked = now;
    while (!claimed && !found.ready.empty()) {
      // The newest: what it needs is the likeliest to be in the caches still.
      Waiting waiting = std::move(found.ready.back());
      found.ready.pop_back();
      --ready_;
      if (waiting.run->sandbox().alive() && now - waiting.made < kLongestWait) {
        claimed = std::move(waiting.run);
      } else {
        discarded_.push_back(std::move(waiting.run));
        discarded_one_.notify_one();
      }
    }
    if (!claimed) {
      found.wanted = std::clamp<std::size_t>(2 * found.wanted, 2, kMostOfKind);
    }
    start_threads();
  }
  changed_.notify_one();
  return claimed;
}

void ReadyRuns::discard(std::unique_ptr<ReadyRun> used) {
  {
    const std::scoped_lock lock(mutex_);
    discarded_.push_back(std::move(used));
  }
  discarded_one_.notify_one();
}

std::size_t ReadyRuns::ready() {
  const std::scoped_lock lock(mutex_);
  return ready_;
}

ReadyRuns::Known& ReadyRuns::known(const ReadyKind& kind) {
  const auto found = std::ranges::find(known_, kind, &Known::kind);
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return known_.front();
  }
  if (known_.size() >= kMostKinds) {
    let_go(known_.back(), 0, {});
    known_.pop_back();
  }
  known_.push_front({.kind = kind});
  return known_.front();
}

// All but `most`, and those that are older.
void ReadyRuns::let_go(Known& known, std::size_t most, Clock::time_point made_before) {
  while (!known.ready.empty() &&
         (known.ready.size() > most || known.ready.front().made < made_before)) {
    discarded_.push_back(std::move(known.ready.front().run));
    known.ready.pop_front();
    --ready_;
    discarded_one_.notify_one();
  }
}

void ReadyRuns::shrink(Clock::time_point now) {
  for (Known& each : known_) {
    if (now - each.asked >= kIdle) {
      each.wanted = 0;
    }
    let_go(each, each.wanted, now - kLongestWait);
  }
}

ReadyRuns::Known* ReadyRuns::next_to_make(Clock::time_point now) {
  const auto found = std::ranges::find_if(known_, [&](const Known& each) {
    return each.ready.size() < each.wanted && now >= each.retry;
  });
  return found == known_.end() || ready_ >= kMost ? nullptr : &*found;
}

void ReadyRuns::start_threads() {
  if (!maker_.joinable()) {
    // A sandbox ends with the thread that made it: this one makes them all.
    maker_ = std::thread([this] { keep_filled(); });
    clearer_ = std::thread([this] { clear_away(); });
  }
}

void ReadyRuns::keep_filled() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Clock::time_point now = Clock::now();
    shrink(now);
    const Known* const which = next_to_make(now);
    if (which == nullptr) {
      (void)changed_.wait_for(lock, kRest);
    } else if (2 * which->ready.size() >= which->wanted && now < which->asked + kSettle) {
      (void)changed_.wait_until(lock, which->asked + kSettle);
    } else {
      make_one(lock, ReadyKind(which->kind));
    }
  }
}

void ReadyRuns::make_one(std::unique_lock<std::mutex>& lock, const ReadyKind& kind) {
  lock.unlock();
  std::unique_ptr<ReadyRun> made;
  try {
    if (!memory_is_scarce()) {
      if (auto run = make_(kind); run) {
        made = std::make_unique<ReadyRun>(std::move(run).value());
      }
    }
  } catch (const std::exception&) {  // No memory: a later try may succeed.
    made = nullptr;
  }
  lock.lock();
  const auto found = std::ranges::find(known_, kind, &Known::kind);
  if (made && found != known_.end()) {
    found->ready.push_back({.run = std::move(made), .made = Clock::now()});
    ++ready_;
  } else if (made) {  // Forgotten meanwhile.
    discarded_.push_back(std::move(made));
    discarded_one_.notify_one();
  } else if (found != known_.end()) {
    found->retry = Clock::now() + kPause;
  }
}

void ReadyRuns::clear_away() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (discarded_.empty()) {
      discarded_one_.wait(lock);
      continue;
    }
    std::unique_ptr<ReadyRun> used = std::move(discarded_.front());
    discarded_.pop_front();
    lock.unlock();
    (void)used->sandbox().end();
    used.reset();
    lock.lock();
  }
}

}  // namespace glovebox
