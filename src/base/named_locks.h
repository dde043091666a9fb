// SPDX-License-Identifier: Apache-2.0
// NamedLocks: one lock for each name, made when it is first wanted and gone with its last user.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace glovebox {

// Safe to use from several threads. A thread that holds one name's lock does not keep threads
// waiting that want another's.
class NamedLocks {
 public:
  // Unlocks at its end. May outlive the NamedLocks.
  class Held {
   public:
    explicit Held(std::shared_ptr<std::timed_mutex> mutex)
        : mutex_(std::move(mutex)), lock_(*mutex_, std::adopt_lock) {}
    Held(Held&&) noexcept = default;
    Held& operator=(Held&&) = delete;

   private:
    std::shared_ptr<std::timed_mutex> mutex_;  // Outlives the lock.
    std::unique_lock<std::timed_mutex> lock_;
  };

  // Nothing if somebody else holds it for all of `patience`.
  std::optional<Held> take(std::string_view name, std::chrono::milliseconds patience) {
    std::shared_ptr<std::timed_mutex> mutex = of(name);
    if (!mutex->try_lock_for(patience)) {
      return std::nullopt;
    }
    return Held(std::move(mutex));
  }

 private:
  std::shared_ptr<std::timed_mutex> of(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = mutexes_.find(name); found != mutexes_.end()) {
      if (auto known = found->second.lock()) {
        return known;
      }
    }
    // Locks that nobody uses any more are removed when another is taken.
    std::erase_if(mutexes_, [](const auto& each) { return each.second.expired(); });
    auto made = std::make_shared<std::timed_mutex>();
    mutexes_[std::string(name)] = made;
    return made;
  }

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<std::timed_mutex>, std::less<>> mutexes_;
};

}  // namespace glovebox
