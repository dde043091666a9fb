// SPDX-License-Identifier: Apache-2.0
#include "service/run_pool/ready_sandboxes.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// How long a runner takes to start at most, on a busy machine.
constexpr auto kPatience = 10s;
// The claiming thread has the processors to itself, unless few are left, or many must be ended.
constexpr auto kSettle = 5ms;
constexpr std::size_t kMostDiscarded = 4;
// How often to check the memory, and whether what waits is still wanted.
constexpr auto kRest = 1s;
constexpr auto kLook = 250ms;

// How long a runner waits for its run at most.
constexpr auto kLongestWait = 300s;

}  // namespace

Result<ReadySandbox> make_ready(const ReadyKind& kind) {
  SandboxSpec spec;
  spec.limits = kind.limits;
  spec.mounts = kind.mounts;
  spec.home = kind.home;
  spec.user = kind.user;
  auto sandbox = GB_TRY(Sandbox::create(spec, kind.tier));
  if (kind.directory.empty()) {
    return ReadySandbox(std::move(sandbox));
  }
  return ReadySandbox::start(std::move(sandbox), kind.directory, {.limits = kind.limits},
                             kLongestWait, kPatience);
}

ReadySandboxes::~ReadySandboxes() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  making_.set(Clock::now());
  clearing_.set(Clock::now());
  for (std::thread* const thread : {&maker_, &clearer_}) {
    if (thread->joinable()) {
      thread->join();
    }
  }
}

std::unique_ptr<ReadySandbox> ReadySandboxes::claim(const ReadyKind& kind) {
  std::unique_ptr<ReadySandbox> claimed;
  {
    const std::scoped_lock lock(mutex_);
    const Clock::time_point now = Clock::now();
    Known& found = known(kind);
    found.asked = now;
    last_claim_ = now;
    while (!claimed && !found.ready.empty()) {
      // The newest one: what it needs is the most likely to be in the caches still.
      Waiting waiting = std::move(found.ready.back());
      found.ready.pop_back();
      --ready_;
      if ((*waiting.sandbox)->alive() && now - waiting.made < bounds_.wait) {
        claimed = std::move(waiting.sandbox);
      } else {
        bury(std::move(waiting.sandbox));
      }
    }
    if (!claimed) {
      found.wanted = std::clamp(2 * found.wanted, bounds_.first, bounds_.of_kind);
    }
    start_threads();
    making_.set(found.few_left() ? now : now + kSettle);
  }
  return claimed;
}

void ReadySandboxes::keep(const ReadyKind& kind, ReadySandbox first, std::function<void()> full) {
  const std::scoped_lock lock(mutex_);
  const Clock::time_point now = Clock::now();
  full_ = std::move(full);
  known_.push_front({.kind = kind, .wanted = bounds_.first, .kept = true, .asked = now});
  known_.front().ready.push_back(
      {.sandbox = std::make_unique<ReadySandbox>(std::move(first)), .made = now});
  ++ready_;
  start_threads();
}

void ReadySandboxes::discard(std::unique_ptr<ReadySandbox> used) {
  const std::scoped_lock lock(mutex_);
  bury(std::move(used));
}

void ReadySandboxes::empty() {
  const std::scoped_lock lock(mutex_);
  for (Known& each : known_) {
    each.wanted = each.kept ? each.wanted : 0;
    let_go(each, 0, {});
  }
}

std::size_t ReadySandboxes::ready() {
  const std::scoped_lock lock(mutex_);
  return ready_;
}

ReadySandboxes::Known& ReadySandboxes::known(const ReadyKind& kind) {
  const auto found = std::ranges::find(known_, kind, &Known::kind);
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return known_.front();
  }
  if (known_.size() >= bounds_.kinds) {
    const auto oldest = std::ranges::find(known_.rbegin(), known_.rend(), false, &Known::kept);
    let_go(*oldest, 0, {});
    known_.erase(std::next(oldest).base());
  }
  known_.push_front({.kind = kind});
  return known_.front();
}

void ReadySandboxes::bury(std::unique_ptr<ReadySandbox> used) {
  discarded_.push_back(std::move(used));
  clearing_.set(clear_at());
}

// When to end the next discarded one.
ReadySandboxes::Clock::time_point ReadySandboxes::clear_at() const {
  return discarded_.size() > kMostDiscarded ? Clock::now() : last_claim_ + kSettle;
}

// All but `most`, and those made before `made_before`.
void ReadySandboxes::let_go(Known& known, std::size_t most, Clock::time_point made_before) {
  while (!known.ready.empty() &&
         (known.ready.size() > most || known.ready.front().made < made_before)) {
    bury(std::move(known.ready.front().sandbox));
    known.ready.pop_front();
    --ready_;
  }
}

void ReadySandboxes::shrink(Clock::time_point now) {
  if (now - looked_ >= kLook) {
    looked_ = now;
    scarce_ = is_scarce_();
  }
  for (Known& each : known_) {
    if (!each.kept && now - each.asked >= bounds_.idle) {
      each.wanted = 0;
    }
    let_go(each, scarce_ ? 0 : each.wanted, now - bounds_.wait);
  }
}

// The kind that was asked for last comes first, but only after kinds of which few are left.
ReadySandboxes::Known* ReadySandboxes::next_to_make(Clock::time_point now) {
  Known* next = nullptr;
  for (Known& each : known_) {
    const bool is_missing = each.ready.size() < each.wanted && now >= each.retry;
    if (is_missing && (next == nullptr || (each.few_left() && !next->few_left()))) {
      next = &each;
    }
  }
  return scarce_ || ready_ >= bounds_.all ? nullptr : next;
}

bool ReadySandboxes::is_full() const {
  return std::ranges::all_of(known_,
                             [](const Known& each) { return each.ready.size() >= each.wanted; });
}

void ReadySandboxes::start_threads() {
  if (!maker_.joinable()) {
    // A sandbox ends with the thread that made it: this one makes them all.
    maker_ = std::thread([this] { keep_filled(); });
    clearer_ = std::thread([this] { clear_away(); });
  }
}

void ReadySandboxes::keep_filled() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Clock::time_point now = Clock::now();
    shrink(now);
    const Known* const which = next_to_make(now);
    if (which == nullptr) {
      wait(lock, making_, now + kRest);
    } else if (!which->few_left() && now < last_claim_ + kSettle) {
      wait(lock, making_, last_claim_ + kSettle);
    } else {
      make_one(lock, ReadyKind(which->kind));
    }
  }
}

// Sets the alarm before it lets go of the lock: a wake-up that comes meanwhile is not lost.
void ReadySandboxes::wait(std::unique_lock<std::mutex>& lock,
                          const sys::Alarm& alarm,
                          Clock::time_point until) {
  alarm.set(until);
  lock.unlock();
  alarm.wait();
  lock.lock();
}

void ReadySandboxes::make_one(std::unique_lock<std::mutex>& lock, const ReadyKind& kind) {
  lock.unlock();
  std::unique_ptr<ReadySandbox> made;
  try {
    if (auto sandbox = make_(kind); sandbox) {
      made = std::make_unique<ReadySandbox>(std::move(sandbox).value());
    }
  } catch (const std::exception&) {  // No memory: a later try may succeed.
    made = nullptr;
  }
  lock.lock();
  const auto found = std::ranges::find(known_, kind, &Known::kind);
  if (made && found != known_.end()) {
    found->ready.push_back({.sandbox = std::move(made), .made = Clock::now()});
    ++ready_;
    if (full_ && is_full()) {
      full_();
    }
  } else if (made) {  // Forgotten meanwhile.
    bury(std::move(made));
  } else if (found != known_.end()) {
    // A caller that wants this kind makes it, and hears why that fails.
    found->retry = Clock::now() + bounds_.pause;
    found->wanted = found->kept ? found->wanted : 0;
  }
}

void ReadySandboxes::clear_away() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (discarded_.empty()) {
      wait(lock, clearing_, Clock::time_point::max());
    } else if (Clock::now() < clear_at()) {
      wait(lock, clearing_, clear_at());
    } else {
      std::unique_ptr<ReadySandbox> used = std::move(discarded_.front());
      discarded_.pop_front();
      lock.unlock();
      (void)(*used)->end();
      used.reset();
      lock.lock();
    }
  }
}

}  // namespace glovebox
