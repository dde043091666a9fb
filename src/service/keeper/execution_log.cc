// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/execution_log.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

namespace glovebox::keeper {

ExecutionLog::ExecutionLog(std::shared_ptr<KeptMemory> memory)
    : stamp_(memory->stamp()),
      cancel_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      share_(std::move(memory), *this) {}

void ExecutionLog::append(std::string_view event) {
  {
    const std::scoped_lock lock(mutex_);
    total_ += event.size();
    bytes_ += event.size();
    share_.add(event.size());
    events_.push_back({.text = std::string(event), .end = total_});
    while (bytes_ > kMostBytes && events_.size() > 1) {
      forget_first();
    }
    changed_.notify_all();
  }
  share_.fit();
}

void ExecutionLog::forget_first() {
  const std::size_t size = events_.front().text.size();
  events_.pop_front();
  ++first_;
  bytes_ -= size;
  share_.remove(size);
}

void ExecutionLog::finish(std::optional<Error> lost) {
  const std::scoped_lock lock(mutex_);
  finished_ = true;
  lost_ = std::move(lost);
  cancel_.reset();
  changed_.notify_all();
}

bool ExecutionLog::finished() const {
  const std::scoped_lock lock(mutex_);
  return finished_;
}

bool ExecutionLog::said_nothing() const {
  const std::scoped_lock lock(mutex_);
  return finished_ && count() == 0;
}

std::optional<Error> ExecutionLog::lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

void ExecutionLog::cancel() {
  const std::scoped_lock lock(mutex_);
  canceled_ = true;
  if (cancel_) {
    (void)::eventfd_write(cancel_.get(), 1);
  }
}

bool ExecutionLog::canceled() const {
  const std::scoped_lock lock(mutex_);
  return canceled_;
}

std::optional<std::uint64_t> ExecutionLog::oldest() const {
  const std::scoped_lock lock(mutex_);
  const bool may_go_whole = finished_ && readers_ == 0;
  return events_.size() > (may_go_whole ? 0 : 1) ? std::optional(stamp_) : std::nullopt;
}

void ExecutionLog::drop_oldest() {
  const std::scoped_lock lock(mutex_);
  if (finished_ && readers_ == 0) {
    while (!events_.empty()) {
      forget_first();
    }
    if (!lost_) {
      lost_ = Error(ErrorCode::kConflict, "the result of this execution is no longer kept",
                    "execute the code again with a new Idempotency-Key");
    }
    return;
  }
  const std::size_t before = bytes_;
  while (events_.size() > 1 && before - bytes_ < KeptMemory::kPiece) {
    forget_first();
  }
  stamp_ = share_.memory().stamp();
}

ExecutionLog::Reader::Reader(std::shared_ptr<ExecutionLog> log) : log_(std::move(log)) {
  const std::scoped_lock lock(log_->mutex_);
  ++log_->readers_;
}

ExecutionLog::Reader::~Reader() {
  {
    const std::scoped_lock lock(log_->mutex_);
    --log_->readers_;
  }
  log_->share_.fit();
}

std::optional<ExecutionLog::Next> ExecutionLog::Reader::next(
    std::chrono::steady_clock::time_point deadline) {
  ExecutionLog& log = *log_;
  std::unique_lock lock(log.mutex_);
  const auto has_news = [&] { return log.count() > seen_ || log.finished_; };
  if (!has_news() && deadline > std::chrono::steady_clock::now()) {
    log.changed_.wait_until(lock, deadline, has_news);
  }
  const std::uint64_t number = std::max(seen_, log.first_);
  if (number >= log.count()) {
    seen_ = number;
    passed_ = log.total_;
    return std::nullopt;
  }
  const Event& event = log.events_[number - log.first_];
  Next next{.event = event.text, .missed = number - seen_};
  seen_ = number + 1;
  passed_ = event.end;
  return next;
}

bool ExecutionLog::Reader::ended() const {
  const std::scoped_lock lock(log_->mutex_);
  return log_->finished_ && log_->count() <= seen_;
}

std::size_t ExecutionLog::Reader::behind() const {
  const std::scoped_lock lock(log_->mutex_);
  return log_->total_ - passed_;
}

}  // namespace glovebox::keeper
