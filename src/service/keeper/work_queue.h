// SPDX-License-Identifier: Apache-2.0
// WorkQueue: jobs that may wait for a guest or for a disk, in threads of their own.
//
// A job that hangs delays only others of its own tenant: each tenant has a few threads at once and
// the rest of its jobs wait in its own line.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace glovebox::keeper {

// Safe to use from several threads.
class WorkQueue {
 public:
  using Job = std::function<void()>;

  struct Bounds {
    std::size_t of_tenant = 16;  // Threads that one tenant's jobs may hold at once.
    std::size_t all = 128;
  };

  explicit WorkQueue(Bounds bounds) : state_(std::make_shared<State>(bounds)) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  // Waits for all jobs: they may use what is about to go.
  ~WorkQueue();

  // Never blocks. Jobs of one tenant begin in the order in which they came, and may run beside each
  // other. What a job throws is dropped. If no thread can be made, the job waits for the next
  // post(), or for the end of another job.
  void post(const std::string& tenant, Job job);

  // Waits until nothing is left to do. False if something still is after `patience`.
  bool wait(std::chrono::milliseconds patience);

  // Jobs that wait or run.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Line {
    std::deque<Job> waiting;
    std::size_t running = 0;
  };

  // Shared with the threads, which are detached.
  struct State {
    explicit State(Bounds most) : bounds(most) {}
    const Bounds bounds;
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, Line> lines;  // Without those that are empty.
    std::string last;                   // The tenant that was served last.
    std::size_t threads = 0;
    std::size_t jobs = 0;
  };

  static bool take(State& state, std::string& tenant, Job& job);
  static void work(const std::shared_ptr<State>& state, std::string tenant, Job job);
  static void start_threads(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace glovebox::keeper
