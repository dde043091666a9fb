// SPDX-License-Identifier: Apache-2.0
// Which thread flushes records to the disk, when, and for whom.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "audit/journal.h"

namespace glovebox::audit {
namespace {

// A flush waits for others to join, which would otherwise need one each: for half the time that an
// act usually takes, and no longer than kGather. After each wait that nobody joined, a growing
// number of flushes does not wait: up to kMostHasty.
constexpr std::chrono::nanoseconds kGather = std::chrono::milliseconds(3);
constexpr unsigned kMostHasty = 15;
// No act counts as longer: its time decides how often there are flushes that nobody waits for yet.
constexpr std::chrono::nanoseconds kLongAct = std::chrono::milliseconds(10);
// One in kShare is an act's weight in the usual time.
constexpr int kShare = 16;
// How soon Haste::kSoon is.
constexpr std::chrono::milliseconds kSoon{10};

}  // namespace

void Journal::end_act(std::size_t bytes, Steady::time_point since) {
  reserved_ -= bytes;
  --acts_;
  const std::chrono::nanoseconds took = Steady::now() - since;
  // An approximation is enough: if two acts end at once, one may not count.
  const std::chrono::nanoseconds usual = usual_act_.load(std::memory_order_relaxed);
  usual_act_.store(usual + (std::min(took, kLongAct) - usual) / kShare, std::memory_order_relaxed);
}

// Asks for a flush soon. Returns whether the caller must wake up the thread for it.
bool Journal::hurry() {
  hurried_ = number_;
  flush_due_ = std::min(flush_due_, Steady::now() + kSoon);
  return !leading_ && wakes_before(flush_due_);  // A leader wakes it up at the end.
}

// Whether the thread would sleep beyond `by`; if so, the caller must wake it up.
bool Journal::wakes_before(Steady::time_point by) {
  if (by >= wakes_at_) {
    return false;
  }
  wakes_at_ = Steady::time_point::min();
  return true;
}

void Journal::flush_meanwhile(std::uint64_t number) {
  if (options_.durability == Durability::kRelaxed || durable_ >= number) {
    return;
  }
  std::unique_lock lock(mutex_);
  // One flush in the time that an act takes: all acts at work share it. Acts that end sooner
  // wait(), and flush for all that have begun meanwhile.
  const bool shares = acts_ > 1 && Steady::now() < flush_began_ + usual_act_.load();
  if (!leading_ && !failed_ && !shares && durable_ < number) {
    flush_group(lock);
  }
}

Result<void> Journal::wait(std::uint64_t number) {
  if (options_.durability == Durability::kRelaxed || durable_ >= number) {
    return {};
  }
  std::unique_lock lock(mutex_);
  if (number > std::max(target_, durable_.load()) && ++joined_ * 2 >= acts_) {
    gathered_.notify_one();
  }
  while (durable_ < number && !failed_) {
    if (!leading_) {
      lead(lock);
    } else {
      flushed_[(number > target_ ? group_ : group_ + 1) % 2].wait(lock);
    }
  }
  return durable_ >= number ? Result<void>() : *failed_;
}

void Journal::lead(std::unique_lock<std::mutex>& lock) {
  leading_ = true;
  gather(lock);
  flush_group(lock);
}

void Journal::flush_group(std::unique_lock<std::mutex>& lock) {
  leading_ = true;
  const unsigned mine = group_++ % 2;
  target_ = number_;
  joined_ = 0;
  (void)flush(lock, false);
  leading_ = false;
  const bool wakes = wakes_before(flush_due_);
  // So that the threads woken up find the lock free.
  lock.unlock();
  flushed_[mine].notify_all();
  // One of the threads that came meanwhile leads the next group.
  flushed_[1 - mine].notify_one();
  if (wakes) {
    changed_.notify_one();
  }
  lock.lock();
}

void Journal::gather(std::unique_lock<std::mutex>& lock) {
  // Half of the acts at work: the others have the processors while this half waits.
  const auto enough = [this] { return joined_ * 2 >= acts_ || failed_ || stopping_; };
  if (hasty_ > 0) {
    --hasty_;
  } else if (!enough()) {
    const std::size_t before = joined_;
    (void)gathered_.wait_for(lock, std::min(kGather, usual_act_.load() / 2), enough);
    lonely_ = joined_ > before ? 0 : std::min(2 * lonely_ + 1, kMostHasty);
    hasty_ = lonely_;
  }
}

void Journal::wake_all() {
  gathered_.notify_all();
  for (std::condition_variable& each : flushed_) {
    each.notify_all();
  }
}

Result<void> Journal::checkpoint() {
  std::unique_lock lock(mutex_);
  if (failed_) {
    return *failed_;
  }
  auto flushed = flush(lock, true);
  wake_all();
  return flushed;
}

Journal::Steady::time_point Journal::checkpoint_due() const {
  if (number_ == signed_) {
    return kNever;
  }
  const bool many = number_ - signed_ >= options_.checkpoint_records;
  return std::max(not_before_, many ? first_unsigned_ : first_unsigned_ + options_.checkpoint_time);
}

void Journal::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = Steady::now();
    const auto flush_due = leading_ ? kNever : flush_due_;
    if (!failed_ && now >= checkpoint_due()) {
      if (flush(lock, true)) {
        wake_all();
      }
    } else if (!failed_ && now >= flush_due) {
      flush_group(lock);
    } else {
      wakes_at_ = failed_ ? kNever : std::min(flush_due, checkpoint_due());
      if (hurried_ != std::exchange(slept_on_, hurried_)) {
        // More will come: then a writer sees that the thread wakes up early enough by itself.
        wakes_at_ = std::min(wakes_at_, now + kSoon);
      }
      if (wakes_at_ == kNever) {
        changed_.wait(lock);
      } else {
        (void)changed_.wait_until(lock, wakes_at_);
      }
      wakes_at_ = Steady::time_point::min();
    }
  }
  if (!failed_ && number_ > signed_) {
    (void)flush(lock, true);
  }
}

Result<void> Journal::flush(std::unique_lock<std::mutex>& lock, bool renew_head) {
  if (renew_head && number_ > signed_) {
    if (auto written = write_checkpoint(); !written) {
      // There may be no room for it: it is tried again a while later, and records continue.
      first_unsigned_ = Steady::now();
      not_before_ = first_unsigned_ + options_.checkpoint_time;
      renew_head = false;
    }
  }
  const std::uint64_t target = number_;
  if (target >= hurried_) {
    flush_due_ = kNever;
  }
  flush_began_ = Steady::now();
  const auto file = file_;
  const Head head{.number = number_,
                  .hash = hash_,
                  .segment = segment_,
                  .size = size_,
                  .time = time_};
  lock.unlock();
  auto flushed =
      ::fdatasync(file->get()) == 0 ? Result<void>() : Error::from_errno("flush the audit journal");
  lock.lock();
  if (flushed) {
    durable_ = std::max(durable_.load(), target);
    if (renew_head) {
      lock.unlock();
      flushed = publish(head);
      lock.lock();
    }
  }
  if (!flushed) {
    fail(flushed.error());
  }
  return flushed;
}

Result<void> Journal::publish(const Head& head) {
  const std::scoped_lock lock(publishing_);
  if (head.number <= published_) {
    return {};
  }
  const std::string line = GB_TRY(head_line(head, key_));
  GB_TRY(write_head(head_file_.get(), place_ + 1, line));
  ++place_;
  published_ = head.number;
  if (witness_) {
    const std::string told = std::to_string(head.number) + " " + head.hash + "\n";
    if (::write(witness_.get(), told.data(), told.size()) != static_cast<ssize_t>(told.size())) {
      return Error::from_errno("write " + options_.witness);
    }
  }
  return {};
}

}  // namespace glovebox::audit
