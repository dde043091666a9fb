// SPDX-License-Identifier: Apache-2.0
#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

TEST(GlobTest, AStarMatchesAnyTextAndAQuestionMarkOneCharacter) {
  EXPECT_TRUE(matches_glob("a*c", "abbc"));
  EXPECT_TRUE(matches_glob("a?c", "abc"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("*b*b", "abcb"));
  EXPECT_FALSE(matches_glob("a*c", "abcd"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(GlobTest, AGlobOfManyStarsTakesNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) {
    pattern += "*a";
  }
  EXPECT_FALSE(matches_glob(pattern, std::string(5'000, 'a') + "b"));
}

}  // namespace
}  // namespace glovebox
