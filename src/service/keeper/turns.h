// SPDX-License-Identifier: Apache-2.0
// Turns: a lock that is given in the order in which it was asked for, to those that still want it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

#include "base/result.h"

namespace glovebox::keeper {

// How long somebody waits for something: until `deadline`, and while `wanted` says so. The waiting
// thread calls `wanted` a few times a second; an empty one means yes.
struct Patience {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::function<bool()> wanted{};

  [[nodiscard]] bool is_wanted() const { return !wanted || wanted(); }
};

// Safe to use from several threads; must outlive each Turn.
class Turns {
 public:
  // How many may wait besides the one whose turn it is. Each of them holds a thread.
  static constexpr std::size_t kMostWaiting = 256;

  // Held by one at a time, and given back by its end.
  class Turn {
   public:
    explicit Turn(Turns* turns) : turns_(turns) {}
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) {
        turns_->give_back();
      }
    }

   private:
    Turns* turns_;
  };

  // Waits until it is the caller's turn. kExhausted at once when kMostWaiting wait already,
  // kConflict when the deadline has passed, kUnavailable when nobody wants it any more.
  Result<Turn> take(const Patience& patience);

  // Somebody has it, or waits for it.
  [[nodiscard]] bool taken() const;

 private:
  void give_back();

  mutable std::mutex mutex_;
  // A place for each, which stays where it is as long as its owner has or wants the turn. The first
  // has it.
  std::list<std::condition_variable> line_;
};

}  // namespace glovebox::keeper
