// SPDX-License-Identifier: Apache-2.0
#include "base/diff/unified_diff.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

TEST(UnifiedDiffTest, ShowsChangesWithThreeLinesAround) {
  const UnifiedDiff diff =
      unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
  EXPECT_EQ(diff.hunks, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  EXPECT_EQ(diff.added, 1U);
  EXPECT_EQ(diff.removed, 1U);
}

TEST(UnifiedDiffTest, OfEqualTextsIsEmpty) {
  EXPECT_EQ(unified_diff("a\nb\n", "a\nb\n").hunks, "");
  EXPECT_EQ(unified_diff("", "").hunks, "");
}

TEST(UnifiedDiffTest, SaysThatALastLineHasNoEnd) {
  EXPECT_EQ(unified_diff("", "a").hunks, "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
  EXPECT_EQ(unified_diff("a\n", "").hunks, "@@ -1 +0,0 @@\n-a\n");
}

TEST(UnifiedDiffTest, TakesALittleEffortForTextsThatHaveNothingInCommon) {
  std::string before;
  std::string after;
  for (int i = 0; i < 3'000; ++i) {
    before += "a" + std::to_string(i) + "\n";
    after += "b" + std::to_string(i) + "\n";
  }
  const UnifiedDiff diff = unified_diff(before, after, 10'000);
  EXPECT_EQ(diff.added, 3'000U);
  EXPECT_EQ(diff.removed, 3'000U);
}

TEST(UnifiedDiffTest, ZeroBytesAreNoText) {
  EXPECT_TRUE(looks_binary(std::string_view("a\0b", 3)));
  EXPECT_FALSE(looks_binary("text\n"));
}

}  // namespace
}  // namespace glovebox
