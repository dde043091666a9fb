// SPDX-License-Identifier: Apache-2.0
#include "cli/notebook_progress.h"

#include <unistd.h>

#include <utility>

#include "cli/output_writer.h"

namespace glovebox::cli {

NotebookProgress::NotebookProgress(bool enabled) : running_(enabled) {
  if (enabled) {
    ticker_ = std::thread([this] { tick(); });
  }
}

void NotebookProgress::show(std::string what) {
  const std::scoped_lock lock(mutex_);
  what_ = std::move(what);
  draw();
}

void NotebookProgress::clear() {
  {
    const std::scoped_lock lock(mutex_);
    if (!running_) {
      return;
    }
    running_ = false;
    write_fully(STDERR_FILENO, "\r\x1b[K");
  }
  ended_.notify_one();
  ticker_.join();
}

void NotebookProgress::draw() {
  if (!running_ || what_.empty()) {
    return;
  }
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_);
  write_fully(STDERR_FILENO,
              "\r\x1b[K\x1b[2m" + what_ + ", " + std::to_string(elapsed.count()) + " s\x1b[0m");
}

void NotebookProgress::tick() {
  std::unique_lock lock(mutex_);
  while (running_) {
    draw();
    (void)ended_.wait_for(lock, std::chrono::seconds(1));
  }
}

}  // namespace glovebox::cli
