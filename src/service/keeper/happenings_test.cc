// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/happenings.h"

#include <gtest/gtest.h>

namespace glovebox::keeper {
namespace {

TEST(HappeningsTest, EachIsToldOnceAndInOrder) {
  Happenings happenings;
  happenings.note({.sandbox = "a", .action = "process.end"});
  happenings.note({.sandbox = "b", .action = "connection"});
  const auto told = happenings.take();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].sandbox, "a");
  EXPECT_EQ(told[1].action, "connection");
  EXPECT_TRUE(happenings.take().empty());
}

TEST(HappeningsTest, WhatNoDaemonAsksForIsBoundedAndTheRestIsCounted) {
  Happenings happenings;
  for (std::size_t i = 0; i < Happenings::kMost + 3; ++i) {
    happenings.note({.action = "process.end"});
  }
  const auto told = happenings.take();
  ASSERT_EQ(told.size(), Happenings::kMost + 1);
  EXPECT_EQ(told.back().action, "audit.missed");
  EXPECT_EQ(told.back().details, R"({"count":3})");
  EXPECT_TRUE(happenings.take().empty());
}

}  // namespace
}  // namespace glovebox::keeper
