// SPDX-License-Identifier: Apache-2.0
#include "language/suggest.h"

#include <string>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(SuggestTest, FindsTheNearestWord) {
  EXPECT_EQ(nearest_word("pyhton", {"perl", "python", "php"}), "python");
  EXPECT_EQ(nearest_word("javscript", {"java", "javascript"}), "javascript");
  EXPECT_EQ(nearest_word("PYTHN", {"python"}), "python");
}

TEST(SuggestTest, FindsTheOnlyWordThatBeginsSo) {
  EXPECT_EQ(nearest_word("--mem", {"--memory", "--cpus"}), "--memory");
  EXPECT_EQ(nearest_word("--comp", {"--compile-time", "--compile-memory"}), "");
  EXPECT_EQ(nearest_word("--", {"--memory"}), "");
}

TEST(SuggestTest, SuggestsNothingThatIsFarAway) {
  EXPECT_EQ(nearest_word("brainfuck", {"java", "c", "go"}), "");
  EXPECT_EQ(nearest_word("x", {"c", "d"}), "");
  EXPECT_EQ(nearest_word("", {"c"}), "");
  EXPECT_EQ(nearest_word("c", {}), "");
}

TEST(SuggestTest, IsNotSlowedDownByLongWords) {
  EXPECT_EQ(nearest_word(std::string(1'000'000, 'x'), {"python"}), "");
}

}  // namespace
}  // namespace glovebox
