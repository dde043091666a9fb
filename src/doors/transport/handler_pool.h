// SPDX-License-Identifier: Apache-2.0
// HandlerPool: threads that work on requests; made on demand, kept for reuse, ended when idle.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace glovebox::http {

// Safe to use from several threads.
class HandlerPool {
 public:
  // Called with how long the task has waited.
  using Task = std::function<void(std::chrono::steady_clock::duration waited)>;

  HandlerPool(std::size_t most_threads, std::size_t most_waiting)
      : most_threads_(most_threads), most_waiting_(most_waiting) {}
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;
  ~HandlerPool();  // Waits for the tasks under way; those that wait are dropped.

  // False when too many wait already, or when no thread could be made.
  bool submit(Task task);

  // Somebody waits for a thread: who has one and nothing urgent gives it back.
  [[nodiscard]] bool is_short() const;

 private:
  struct Waiting {
    Task task;
    std::chrono::steady_clock::time_point since;
  };
  void work();

  const std::size_t most_threads_;
  const std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::condition_variable ended_;
  std::deque<Waiting> waiting_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace glovebox::http
