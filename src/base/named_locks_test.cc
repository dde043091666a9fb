// SPDX-License-Identifier: Apache-2.0
#include "base/named_locks.h"

#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

using namespace std::chrono_literals;

TEST(NamedLocksTest, TheSameNameIsGivenToOneAtATime) {
  NamedLocks locks;
  auto first = locks.take("a", 0ms);
  ASSERT_TRUE(first);
  std::jthread([&] { EXPECT_FALSE(locks.take("a", 1ms)); }).join();
  first.reset();
  EXPECT_TRUE(locks.take("a", 0ms));
}

TEST(NamedLocksTest, WhoHoldsOneNameKeepsNobodyWaitingForAnother) {
  NamedLocks locks;
  const auto held = locks.take("a", 0ms);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(locks.take("b" + std::to_string(i), 0ms));
  }
}

TEST(NamedLocksTest, WhoWaitsGetsItWhenItIsGivenBack) {
  NamedLocks locks;
  auto held = locks.take("a", 0ms);
  std::jthread other([&] { EXPECT_TRUE(locks.take("a", 30s)); });
  held.reset();
}

TEST(NamedLocksTest, ALockMayOutliveWhatItCameFrom) {
  auto locks = std::make_unique<NamedLocks>();
  const auto held = locks->take("a", 0ms);
  locks.reset();
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace glovebox
