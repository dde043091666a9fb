// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/fake_feed.h"

#include <sys/eventfd.h>

#include <utility>

namespace glovebox::rest {

FakeFeed::FakeFeed(Process process) : ready_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this, process = std::move(process)] {
    auto outcome = process([this](const ProcessEvent& event) { return add(event); });
    const std::scoped_lock lock(mutex_);
    outcome_ = std::move(outcome);
    ended_ = true;
    begun_.notify_all();
    (void)::eventfd_write(ready_.get(), 1);
  });
  std::unique_lock lock(mutex_);
  begun_.wait(lock, [this] { return ended_ || !events_.empty(); });
}

FakeFeed::~FakeFeed() {
  {
    const std::scoped_lock lock(mutex_);
    left_ = true;
  }
  thread_.join();
}

bool FakeFeed::add(const ProcessEvent& event) {
  const std::scoped_lock lock(mutex_);
  if (event.kind != ProcessEvent::Kind::kIdle) {
    events_.push_back(event);
    begun_.notify_all();
    (void)::eventfd_write(ready_.get(), 1);
  }
  return !left_;
}

Result<ProcessEvent> FakeFeed::next() {
  const std::scoped_lock lock(mutex_);
  if (!events_.empty()) {
    ProcessEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  eventfd_t times = 0;
  (void)::eventfd_read(ready_.get(), &times);
  if (!outcome_) {
    return outcome_.error();
  }
  return ProcessEvent{.kind = ProcessEvent::Kind::kIdle};
}

}  // namespace glovebox::rest
