// SPDX-License-Identifier: Apache-2.0
// Turns: a lock that is given in the order in which it was asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace glovebox::keeper {

// As a mutex, for std::unique_lock and std::scoped_lock.
class Turns {
 public:
  void lock() {
    std::unique_lock guard(mutex_);
    const std::uint64_t mine = next_++;
    changed_.wait(guard, [&] { return serving_ == mine; });
  }

  void unlock() {
    {
      const std::scoped_lock guard(mutex_);
      ++serving_;
    }
    changed_.notify_all();
  }

  [[nodiscard]] bool taken() const {
    const std::scoped_lock guard(mutex_);
    return serving_ != next_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace glovebox::keeper
