// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/handler_pool.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

namespace glovebox::http {
namespace {

constexpr std::chrono::seconds kIdle{10};

// The share of the pool that this thread's task holds; emptied when it steps out.
thread_local std::optional<FairShares::Share>* running_here = nullptr;

}  // namespace

HandlerPool::~HandlerPool() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  lines_.clear();
  turns_.clear();
  waiting_ = 0;
  wanted_.notify_all();
  ended_.wait(lock, [this] { return threads_ == 0; });
}

bool HandlerPool::submit(const std::string& owner, Task task) {
  const std::scoped_lock lock(mutex_);
  auto room = room_.take(owner);
  if (stopping_ || !room) {
    return false;
  }
  auto& line = lines_[owner];
  if (line.empty()) {
    turns_.push_back(owner);
  }
  line.push_back({std::move(task), std::chrono::steady_clock::now(), *std::move(room)});
  ++waiting_;
  add_thread_if_needed();
  if (threads_ > 0) {
    return true;
  }
  lines_.erase(owner);
  turns_.remove(owner);
  --waiting_;
  return false;
}

void HandlerPool::add_thread_if_needed() {
  wanted_.notify_one();
  if (waiting_ <= idle_) {
    return;
  }
  const bool of_use = std::ranges::any_of(
      turns_, [this](const std::string& owner) { return running_.has_room(owner); });
  if (!of_use || threads_ - outside_ >= most_threads_) {
    return;
  }
  try {
    std::thread(&HandlerPool::work, this).detach();
    ++threads_;
  } catch (const std::system_error&) {
    // No thread is available. The existing ones will get to it.
  }
}

bool HandlerPool::is_short() const {
  const std::scoped_lock lock(mutex_);
  return waiting_ > idle_;
}

void HandlerPool::step_out() {
  running_here->reset();
  const std::scoped_lock lock(mutex_);
  ++outside_;
  if (waiting_ > 0) {
    add_thread_if_needed();
  }
}

bool HandlerPool::step_back(std::string_view owner) {
  const std::scoped_lock lock(mutex_);
  if (waiting_ > idle_ || threads_ - outside_ >= most_threads_) {
    return false;
  }
  *running_here = running_.take(owner);
  outside_ -= running_here->has_value() ? 1 : 0;
  return running_here->has_value();
}

// The first task of the next owner that may have one more thread.
std::optional<HandlerPool::Turn> HandlerPool::next() {
  for (auto owner = turns_.begin(); owner != turns_.end(); ++owner) {
    auto running = running_.take(*owner);
    if (!running) {
      continue;
    }
    const auto line = lines_.find(*owner);
    Turn turn{std::move(line->second.front()), *std::move(running)};
    line->second.pop_front();
    --waiting_;
    if (line->second.empty()) {
      lines_.erase(line);
      turns_.erase(owner);
    } else {
      turns_.splice(turns_.end(), turns_, owner);
    }
    return turn;
  }
  return std::nullopt;
}

void HandlerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<Turn> turn;
    ++idle_;
    const bool woken =
        wanted_.wait_for(lock, kIdle, [&] { return stopping_ || (turn = next()).has_value(); });
    --idle_;
    if (stopping_ || !woken) {
      break;
    }
    lock.unlock();
    std::optional<FairShares::Share> running(std::move(turn->running));
    running_here = &running;
    Waiting& waiting = turn->waiting;
    const auto since = waiting.since;
    { const FairShares::Share no_longer_waits(std::move(waiting.room)); }
    waiting.task(std::chrono::steady_clock::now() - since);
    waiting.task = nullptr;  // Frees what it holds before the thread counts as idle.
    const bool was_outside = !running;
    running.reset();
    lock.lock();
    outside_ -= was_outside ? 1 : 0;
    if (threads_ - outside_ > most_threads_) {
      break;  // Another took its place.
    }
  }
  --threads_;
  // Under the lock: the pool may be gone as soon as it is released.
  ended_.notify_all();
}

}  // namespace glovebox::http
