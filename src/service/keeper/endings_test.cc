// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/endings.h"

#include <gtest/gtest.h>

namespace glovebox::keeper {
namespace {

TEST(EndingsTest, TheFirstReasonCounts) {
  Endings endings;
  EXPECT_FALSE(endings.find("a"));
  endings.note("a", EndReason::kExpired);
  endings.note("a", EndReason::kCrashed);
  ASSERT_TRUE(endings.find("a"));
  EXPECT_EQ(endings.find("a")->reason, EndReason::kExpired);
  EXPECT_NE(endings.find("a")->at, std::chrono::system_clock::time_point());
}

TEST(EndingsTest, TheOldestGoFirst) {
  Endings endings;
  for (std::size_t i = 0; i <= Endings::kMost; ++i) {
    endings.note(std::to_string(i), EndReason::kDeleted);
  }
  EXPECT_FALSE(endings.find("0"));
  EXPECT_TRUE(endings.find("1"));
  EXPECT_TRUE(endings.find(std::to_string(Endings::kMost)));
}

TEST(EndingsTest, OneThatWasMadeAgainCanEndAgain) {
  Endings endings;
  endings.note("a", EndReason::kCrashed);
  endings.forget("a");
  EXPECT_FALSE(endings.find("a"));
  endings.note("a", EndReason::kDeleted);
  EXPECT_EQ(endings.find("a")->reason, EndReason::kDeleted);
}

TEST(EndingsTest, NamesComeBack) {
  for (std::size_t i = 0; i < kEndReasons; ++i) {
    const auto reason = static_cast<EndReason>(i);
    EXPECT_EQ(to_end_reason(to_string(reason)), reason);
    EXPECT_FALSE(describe(reason).empty());
  }
  EXPECT_EQ(to_end_reason("else"), EndReason::kUnknown);
}

}  // namespace
}  // namespace glovebox::keeper
