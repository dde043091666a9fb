// SPDX-License-Identifier: Apache-2.0
#include "trace/tracer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "base/random.h"

namespace glovebox::trace {

Tracer::Tracer(const Options& options, Send send)
    : options_(options), send_(std::move(send)), thread_([this] { loop(); }) {}

Tracer::~Tracer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Tracer::samples() const {
  if (options_.ratio >= 1) {
    return true;
  }
  std::array<unsigned char, sizeof(std::uint64_t)> bytes{};
  fill_random(bytes);
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return static_cast<double>(number) <
         options_.ratio * static_cast<double>(std::numeric_limits<std::uint64_t>::max());
}

void Tracer::take(SpanRecord span) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.size() >= options_.most_waiting) {
    ++counts_.left_out;
    return;
  }
  waiting_.push_back(std::move(span));
  if (waiting_.size() == 1 || waiting_.size() == options_.batch) {
    changed_.notify_one();
  }
}

Tracer::Counts Tracer::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void Tracer::loop() {
  std::unique_lock lock(mutex_);
  auto patience = options_.patience;
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    (void)changed_.wait_for(lock, options_.every,
                            [this] { return stopping_ || waiting_.size() >= options_.batch; });
    const std::size_t count = std::min(waiting_.size(), options_.batch);
    const std::vector<SpanRecord> batch(waiting_.begin(),
                                        waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    lock.unlock();
    const Outcome outcome = send_(batch);
    lock.lock();
    if (outcome == Outcome::kLater && !stopping_) {
      // `waiting_` is bounded, so a collector that stays away costs no more memory.
      (void)changed_.wait_for(lock, patience, [this] { return stopping_; });
      patience = std::min(patience * 2, options_.longest);
      continue;
    }
    patience = options_.patience;
    (outcome == Outcome::kSent ? counts_.sent : counts_.left_out) += count;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

}  // namespace glovebox::trace
