// SPDX-License-Identifier: Apache-2.0
// HandlerPool: threads that work on requests; made on demand, kept for reuse, ended when idle.
//
// An owner that sends many requests delays only its own: owners take turns, and none has more than
// half of the threads that others leave. Work that lasts as long as somebody likes steps out, so
// that another thread takes its place.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "doors/transport/fair_shares.h"

namespace glovebox::http {

// Safe to use from several threads.
class HandlerPool {
 public:
  // Called with how long the task has waited.
  using Task = std::function<void(std::chrono::steady_clock::duration waited)>;

  HandlerPool(std::size_t most_threads, std::size_t most_waiting)
      : most_threads_(most_threads), running_(most_threads, 2), room_(most_waiting, 2) {}
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;
  ~HandlerPool();  // Waits for the tasks under way; those that wait are dropped.

  // False when too many of this owner's wait already, or when no thread could be made.
  bool submit(const std::string& owner, Task task);

  // Whether a task waits for a thread: a task without urgent work should give its thread back.
  [[nodiscard]] bool is_short() const;

  // Within a task: its thread no longer counts, until the task ends or has stepped back.
  void step_out();
  // Within a task that has stepped out. False if there is no room: then the task must end soon.
  bool step_back(std::string_view owner);

 private:
  struct Waiting {
    Task task;
    std::chrono::steady_clock::time_point since;
    FairShares::Share room;
  };
  struct Turn {
    Waiting waiting;
    FairShares::Share running;
  };
  void work();
  void add_thread_if_needed();
  std::optional<Turn> next();

  const std::size_t most_threads_;
  FairShares running_;
  FairShares room_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::condition_variable ended_;
  std::map<std::string, std::deque<Waiting>, std::less<>> lines_;  // None of them empty.
  std::list<std::string> turns_;  // The owners of lines_, in the order of their turns.
  std::size_t waiting_ = 0;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  std::size_t outside_ = 0;
  bool stopping_ = false;
};

}  // namespace glovebox::http
