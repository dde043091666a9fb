// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/execution_log.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

namespace glovebox::keeper {

ExecutionLog::ExecutionLog() : cancel_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void ExecutionLog::append(std::string_view event) {
  const std::scoped_lock lock(mutex_);
  events_.emplace_back(event);
  bytes_ += event.size();
  while (bytes_ > kMostBytes && events_.size() > 1) {
    bytes_ -= events_.front().size();
    events_.pop_front();
    ++first_;
  }
  changed_.notify_all();
}

void ExecutionLog::finish(std::optional<Error> lost) {
  const std::scoped_lock lock(mutex_);
  finished_ = true;
  lost_ = std::move(lost);
  changed_.notify_all();
}

std::optional<ExecutionLog::Next> ExecutionLog::next(
    std::uint64_t& seen, std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const auto has_more = [&] { return first_ + events_.size() > seen; };
  changed_.wait_until(lock, deadline, [&] { return has_more() || finished_; });
  if (!has_more()) {
    return std::nullopt;
  }
  const std::uint64_t number = std::max(seen, first_);
  Next next{.event = events_[number - first_], .missed = number - seen};
  seen = number + 1;
  return next;
}

bool ExecutionLog::ended(std::uint64_t seen) const {
  const std::scoped_lock lock(mutex_);
  return finished_ && first_ + events_.size() <= seen;
}

std::optional<Error> ExecutionLog::lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

void ExecutionLog::cancel() {
  const std::scoped_lock lock(mutex_);
  canceled_ = true;
  (void)::eventfd_write(cancel_.get(), 1);
}

bool ExecutionLog::canceled() const {
  const std::scoped_lock lock(mutex_);
  return canceled_;
}

}  // namespace glovebox::keeper
