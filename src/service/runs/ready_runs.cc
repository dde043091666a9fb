// SPDX-License-Identifier: Apache-2.0
#include "service/runs/ready_runs.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "context/scarce_memory.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// Without being asked for so long, nothing of a kind waits any more, and then it is forgotten.
constexpr auto kIdle = 10s;
constexpr auto kForgotten = 60s;
// After one that could not be made ready.
constexpr auto kPause = 60s;
// Who just claimed has the processors to itself.
constexpr auto kSettle = 5ms;
constexpr auto kRest = 1s;

// A sandbox that waits has some megabytes of its own.
constexpr std::size_t kMostOfKind = 4;
constexpr std::size_t kMostOfTenant = 8;
constexpr std::size_t kMost = 32;
constexpr std::size_t kMostKindsOfTenant = 16;
constexpr std::size_t kMostKinds = 128;

}  // namespace

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

std::unique_ptr<ReadyRun> ReadyRuns::claim(const ReadyKind& kind,
                                           const std::function<Make()>& make) {
  const Clock::time_point now = Clock::now();
  std::unique_ptr<ReadyRun> claimed;
  {
    const std::scoped_lock lock(mutex_);
    Known& found = known(kind);
    const bool again = std::exchange(found.asked, now) != Clock::time_point();
    while (!claimed && !found.ready.empty()) {
      // The newest: what it needs is the likeliest to be in the caches still.
      Waiting waiting = std::move(found.ready.back());
      found.ready.pop_back();
      --ready_;
      if (waiting.run->sandbox().alive() && now - waiting.made < kLongestWait) {
        claimed = std::move(waiting.run);
      } else {
        discarded_.push_back(std::move(waiting.run));
      }
    }
    if (again) {
      found.wanted = claimed ? found.wanted : std::clamp(2 * found.wanted, 1UL, kMostOfKind);
      if (!found.make) {
        found.make = make();
      }
      start_threads();
    }
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
  const auto drop_last_of = [this](const auto& is_one) {
    forget(std::prev(std::find_if(known_.rbegin(), known_.rend(), is_one).base()));
  };
  const auto is_own = [&](const Known& each) { return each.kind.tenant == kind.tenant; };
  if (static_cast<std::size_t>(std::ranges::count_if(known_, is_own)) >= kMostKindsOfTenant) {
    drop_last_of(is_own);
  } else if (known_.size() >= kMostKinds) {
    drop_last_of([](const Known&) { return true; });
  }
  known_.push_front({.kind = kind});
  return known_.front();
}

void ReadyRuns::forget(std::list<Known>::iterator which) {
  for (Waiting& waiting : which->ready) {
    discarded_.push_back(std::move(waiting.run));
  }
  ready_ -= which->ready.size();
  known_.erase(which);
  discarded_one_.notify_one();
}

void ReadyRuns::shrink(Clock::time_point now) {
  for (auto each = known_.begin(); each != known_.end();) {
    const auto which = each++;
    if (now - which->asked >= kForgotten) {
      forget(which);
      continue;
    }
    if (now - which->asked >= kIdle) {
      which->wanted = 0;
      which->make = nullptr;  // It holds the program.
    }
    while (!which->ready.empty() && (which->ready.size() > which->wanted ||
                                     now - which->ready.front().made >= kLongestWait)) {
      discarded_.push_back(std::move(which->ready.front().run));
      which->ready.pop_front();
      --ready_;
      discarded_one_.notify_one();
    }
  }
}

std::size_t ReadyRuns::waiting_of(std::string_view tenant) const {
  std::size_t count = 0;
  for (const Known& each : known_) {
    count += each.kind.tenant == tenant ? each.ready.size() : 0;
  }
  return count;
}

ReadyRuns::Known* ReadyRuns::next_to_make(Clock::time_point now) {
  const auto found = std::ranges::find_if(known_, [&](const Known& each) {
    return each.ready.size() < each.wanted && each.make && now >= each.retry &&
           waiting_of(each.kind.tenant) < kMostOfTenant;
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
    Known* const which = next_to_make(now);
    if (which == nullptr) {
      (void)changed_.wait_for(lock, kRest);
    } else if (now < which->asked + kSettle) {
      (void)changed_.wait_until(lock, which->asked + kSettle);
    } else {
      make_one(lock, *which);
    }
  }
}

void ReadyRuns::make_one(std::unique_lock<std::mutex>& lock, Known& which) {
  const ReadyKind kind = which.kind;
  const Make make = which.make;
  lock.unlock();
  Result<ReadyRun> made = Error(ErrorCode::kUnavailable, "this machine is short of memory");
  if (!memory_is_scarce()) {
    try {
      made = make();
    } catch (const std::exception&) {  // No memory: a later try may succeed.
      made = Error(ErrorCode::kUnavailable, "this machine is short of memory");
    }
  }
  lock.lock();
  // It may have been forgotten meanwhile.
  const auto found = std::ranges::find(known_, kind, &Known::kind);
  if (found == known_.end()) {
    if (made) {
      discarded_.push_back(std::make_unique<ReadyRun>(std::move(made).value()));
      discarded_one_.notify_one();
    }
  } else if (made) {
    found->ready.push_back(
        {.run = std::make_unique<ReadyRun>(std::move(made).value()), .made = Clock::now()});
    ++ready_;
  } else {
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
