// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/turns.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Patience for_long() { return {.deadline = Clock::now() + 60s, .wanted = {}}; }

// Until that many wait behind the one that has it.
void await_waiting(const std::atomic<int>& asked, int count) {
  while (asked < count) {
    std::this_thread::yield();
  }
}

TEST(TurnsTest, OneAtATimeHasIt) {
  Turns turns;
  {
    const auto turn = turns.take(for_long());
    ASSERT_TRUE(turn);
    EXPECT_TRUE(turns.taken());
    const auto other = turns.take({.deadline = Clock::now() + 1ms, .wanted = {}});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code(), ErrorCode::kConflict);
    EXPECT_FALSE(other.error().hint().empty());
  }
  EXPECT_FALSE(turns.taken());
}

TEST(TurnsTest, WhoIsNotWantedAnyMoreLeavesTheLineAndTheOthersMoveUp) {
  Turns turns;
  std::atomic<bool> wanted = true;
  std::atomic<int> asked = 0;
  std::atomic<int> served = 0;
  std::vector<std::jthread> threads;
  {
    const auto turn = turns.take(for_long());
    ASSERT_TRUE(turn);
    threads.emplace_back([&] {
      const auto mine = turns.take({.deadline = Clock::now() + 60s, .wanted = [&] {
                                      ++asked;
                                      return wanted.load();
                                    }});
      ASSERT_FALSE(mine);
      EXPECT_EQ(mine.error().code(), ErrorCode::kUnavailable);
      ++served;
    });
    await_waiting(asked, 1);
    threads.emplace_back([&] {
      EXPECT_TRUE(turns.take(for_long()));
      ++served;
    });
    wanted = false;
    // It goes while somebody else still has the turn.
    await_waiting(served, 1);
  }
  threads.clear();
  EXPECT_EQ(served, 2);
}

TEST(TurnsTest, WhatNobodyWantsIsNotBegunWhenItsTurnComes) {
  Turns turns;
  EXPECT_FALSE(turns.take({.wanted = [] { return false; }}));
  EXPECT_FALSE(turns.taken());
}

TEST(TurnsTest, TheLineIsBounded) {
  Turns turns;
  std::atomic<bool> wanted = true;
  std::atomic<int> asked = 0;
  std::vector<std::jthread> threads;
  const auto turn = turns.take(for_long());
  ASSERT_TRUE(turn);
  for (std::size_t i = 0; i < Turns::kMostWaiting; ++i) {
    threads.emplace_back([&] {
      bool first = true;
      (void)turns.take({.wanted = [&] {
        asked += first ? 1 : 0;
        first = false;
        return wanted.load();
      }});
    });
  }
  await_waiting(asked, Turns::kMostWaiting);
  const auto refused = turns.take(for_long());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kExhausted);
  wanted = false;
}

}  // namespace
}  // namespace glovebox::keeper
