// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/handler_pool.h"

#include <system_error>
#include <thread>
#include <utility>

namespace glovebox::http {
namespace {

constexpr std::chrono::seconds kIdle{10};

}  // namespace

HandlerPool::~HandlerPool() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  waiting_.clear();
  wanted_.notify_all();
  ended_.wait(lock, [this] { return threads_ == 0; });
}

bool HandlerPool::submit(Task task) {
  const std::scoped_lock lock(mutex_);
  if (stopping_ || waiting_.size() >= most_waiting_) {
    return false;
  }
  waiting_.push_back({std::move(task), std::chrono::steady_clock::now()});
  if (waiting_.size() <= idle_) {
    wanted_.notify_one();
    return true;
  }
  if (threads_ < most_threads_) {
    try {
      std::thread(&HandlerPool::work, this).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // No thread to be had. Those that there are will come to it.
      if (threads_ == 0) {
        waiting_.pop_back();
        return false;
      }
    }
  }
  return true;
}

bool HandlerPool::is_short() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size() > idle_;
}

void HandlerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool woken =
        wanted_.wait_for(lock, kIdle, [this] { return stopping_ || !waiting_.empty(); });
    --idle_;
    if (stopping_ || !woken) {
      break;
    }
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next.task(std::chrono::steady_clock::now() - next.since);
    next.task = nullptr;  // What it holds goes before the thread counts as idle.
    lock.lock();
  }
  --threads_;
  // Under the lock: the pool may be gone as soon as it is released.
  ended_.notify_all();
}

}  // namespace glovebox::http
