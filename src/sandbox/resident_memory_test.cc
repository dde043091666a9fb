// SPDX-License-Identifier: Apache-2.0
#include "sandbox/resident_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LargestBeyondTest, EndsNobodyWhileAllKeepToTheLimit) {
  EXPECT_THAT(largest_beyond({}, 0), IsEmpty());
  EXPECT_THAT(largest_beyond({{10, 60}, {11, 40}}, 100), IsEmpty());
}

TEST(LargestBeyondTest, EndsAsManyAsItTakesAndTheLargestFirst) {
  EXPECT_THAT(largest_beyond({{10, 20}, {11, 90}, {12, 40}}, 100), ElementsAre(11));
  EXPECT_THAT(largest_beyond({{10, 20}, {11, 90}, {12, 40}}, 30), ElementsAre(11, 12));
  EXPECT_THAT(largest_beyond({{10, 200}}, 100), ElementsAre(10));
}

}  // namespace
}  // namespace glovebox
