// SPDX-License-Identifier: Apache-2.0
// For tests: a feed of what a function tells a sink.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/unique_fd.h"
#include "service/api/process_feed.h"

namespace glovebox::rest {

class FakeFeed final : public ProcessFeed {
 public:
  using Process = std::function<Result<void>(const ProcessSink&)>;

  // Runs `process` in a thread; the sink says no once this has ended.
  explicit FakeFeed(Process process);
  FakeFeed(const FakeFeed&) = delete;
  FakeFeed& operator=(const FakeFeed&) = delete;
  ~FakeFeed() override;

  [[nodiscard]] int fd() const override { return ready_.get(); }
  Result<ProcessEvent> next() override;

 private:
  bool add(const ProcessEvent& event);

  UniqueFd ready_;
  std::mutex mutex_;
  std::condition_variable begun_;
  std::deque<ProcessEvent> events_;
  Result<void> outcome_;
  bool ended_ = false;
  bool left_ = false;
  std::thread thread_;
};

}  // namespace glovebox::rest
