// SPDX-License-Identifier: Apache-2.0
#include "store/writer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "store/transaction.h"

namespace glovebox {
namespace detail {

struct Job {
  Work work;
  Durability durability;
  bool awaited;
  Result<void> result;  // Of the work, then of the commit.

  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;

  void finish() {
    // Notified under the lock: the waiter may free the job as soon as it sees `done`.
    const std::scoped_lock lock(mutex);
    work = nullptr;
    done = true;
    finished.notify_all();
  }
};

}  // namespace detail

namespace {

// Bounded so that the first of a group does not wait for a thousand others.
constexpr std::size_t kMostInGroup = 256;
// How long work that nobody waits for may wait for other work to be written with it.
constexpr std::chrono::milliseconds kGather{10};

}  // namespace

Result<void> PendingWrite::wait() {
  std::unique_lock lock(job_->mutex);
  job_->finished.wait(lock, [this] { return job_->done; });
  return job_->result;
}

Writer::Writer(Connection connection, Keeping keeping)
    : connection_(std::move(connection)), keeping_(keeping), thread_(&Writer::loop, this) {}

Writer::~Writer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

PendingWrite Writer::begin(Work work, Durability durability) {
  return PendingWrite(add(std::move(work), durability, true));
}

void Writer::leave(Work work, Durability durability) {
  (void)add(std::move(work), durability, false);
}

std::shared_ptr<detail::Job> Writer::add(Work work, Durability durability, bool awaited) {
  auto job = std::make_shared<detail::Job>();
  job->work = std::move(work);
  job->durability = durability;
  job->awaited = awaited;
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(job);
    awaited_ += awaited ? 1 : 0;
  }
  wanted_.notify_one();
  return job;
}

void Writer::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    if (keeping_ == Keeping::kUntilEnd) {
      (void)wanted_.wait_for(lock, kGather, [this] { return stopping_ || awaited_ > 0; });
    }
    const auto end =
        queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMostInGroup));
    Group group(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
    queue_.erase(queue_.begin(), end);
    awaited_ -= static_cast<std::size_t>(
        std::ranges::count_if(group, [](const auto& job) { return job->awaited; }));
    lock.unlock();
    commit(group);
    lock.lock();
  }
}

void Writer::commit(Group& group) {
  const Result<void> committed = run_all(group);
  for (const std::shared_ptr<detail::Job>& job : group) {
    if (!committed && job->result) {
      job->result = committed.error();
    }
    job->finish();
  }
}

Result<void> Writer::run_all(Group& group) {
  const bool flush =
      keeping_ == Keeping::kLasting && std::any_of(group.begin(), group.end(), [](const auto& job) {
        return job->durability == Durability::kPower;
      });
  GB_TRY(set_flush(flush ? Durability::kPower : Durability::kProcess));
  Transaction transaction = GB_TRY(Transaction::begin(connection_));
  for (const std::shared_ptr<detail::Job>& job : group) {
    Savepoint part = GB_TRY(Savepoint::begin(connection_));
    job->result = job->work(connection_);
    if (job->result) {
      job->result = part.keep();
    }
    // After some errors SQLite rolls the whole transaction back: nobody's work is done.
    if (!connection_.in_transaction()) {
      return job->result ? Error(ErrorCode::kInternal, "a write ended its transaction")
                         : job->result.error();
    }
  }
  return transaction.commit();
}

Result<void> Writer::set_flush(Durability durability) {
  if (durability == set_) {
    return {};
  }
  // sqlite.org/pragma.html#pragma_synchronous: under WAL, NORMAL appends to the log without a
  // flush; the next flush, by FULL, covers it.
  GB_TRY(durability == Durability::kPower ? connection_.script("PRAGMA synchronous = FULL")
                                          : connection_.script("PRAGMA synchronous = NORMAL"));
  set_ = durability;
  return {};
}

}  // namespace glovebox
