// SPDX-License-Identifier: Apache-2.0
// One live line on a terminal: what is being done, and how long it has taken so far.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace glovebox::cli {

// One thread calls it; another one of its own draws.
class NotebookProgress {
 public:
  // Does nothing at all when not `enabled`.
  explicit NotebookProgress(bool enabled);

  NotebookProgress(const NotebookProgress&) = delete;
  NotebookProgress& operator=(const NotebookProgress&) = delete;
  ~NotebookProgress() { clear(); }

  void show(std::string what);
  // Removes the line for good.
  void clear();

 private:
  void draw();
  void tick();

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable ended_;
  std::string what_;
  bool running_;
  std::thread ticker_;
};

}  // namespace glovebox::cli
