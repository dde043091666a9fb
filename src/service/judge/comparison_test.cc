// SPDX-License-Identifier: Apache-2.0
#include "service/judge/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::judge {
namespace {

using testing::HasSubstr;
using testing::Optional;

bool match(const char* kind, std::string_view expected, std::string_view actual) {
  const auto comparison = parse_comparison(kind);
  EXPECT_TRUE(comparison) << kind;
  return !difference(expected, actual, comparison.value());
}

TEST(ComparisonTest, LinesForgiveWhiteSpaceAtTheirEndOnly) {
  EXPECT_TRUE(match("lines", "1 2\n3\n", "1 2  \r\n3\n\n"));
  EXPECT_TRUE(match("lines", "1", "1\n"));
  EXPECT_TRUE(match("lines", "", "\n"));
  EXPECT_FALSE(match("lines", "1 2\n", "1  2\n"));
  EXPECT_FALSE(match("lines", "1\n2\n", "1\n\n2\n"));
  EXPECT_FALSE(match("lines", "1\n2\n", "1\n"));
  EXPECT_FALSE(match("lines", "1", "1\n2"));
}

TEST(ComparisonTest, ExactForgivesNothing) {
  EXPECT_TRUE(match("exact", "1\n", "1\n"));
  EXPECT_FALSE(match("exact", "1\n", "1"));
  EXPECT_FALSE(match("exact", "", "\n"));
}

TEST(ComparisonTest, TokensForgiveHowTheyAreSeparated) {
  EXPECT_TRUE(match("tokens", "1 2\n3", "1\n2\t3  \n"));
  EXPECT_FALSE(match("tokens", "12 3", "1 23"));
  EXPECT_FALSE(match("tokens", "1.0", "1"));
}

TEST(ComparisonTest, NumbersMayDifferByTheTolerance) {
  EXPECT_TRUE(match("float:1e-6", "3.1415926 pi", "3.14159265 pi"));
  EXPECT_TRUE(match("float:1e-6", "1e12", "1000000000001"));
  EXPECT_TRUE(match("float:0.5", "0", "-0.5"));
  EXPECT_TRUE(match("float:0", "1.50", "+1.5"));
  EXPECT_FALSE(match("float:1e-6", "3.1415", "3.1416"));
  EXPECT_FALSE(match("float:1e-6", "1", "nan"));
  EXPECT_FALSE(match("float:1e-6", "inf", "1e999"));
  EXPECT_FALSE(match("float:1e-6", "1", "0x1"));
  EXPECT_FALSE(match("float:1e-6", "pi", "3.14"));
}

TEST(ComparisonTest, SaysWhereTheyDifferFirst) {
  const auto said = [](const char* kind, std::string_view expected, std::string_view actual) {
    return difference(expected, actual, parse_comparison(kind).value());
  };
  EXPECT_EQ(said("lines", "1\n2\n", "1\n3\n"), "line 2: expected '2', got '3'");
  EXPECT_EQ(said("lines", "1\n2\n", "1\n"), "line 2: expected '2', got the end of the output");
  EXPECT_EQ(said("tokens", "1", "1 2"), "word 2: expected the end of the output, got '2'");
  EXPECT_EQ(said("exact", "ab", "ac"), "byte 2: expected 'b', got 'c'");
  // A guest's bytes drive no terminal, and fill no screen.
  EXPECT_THAT(said("lines", "1", "\x1b[2J"), Optional(testing::Not(HasSubstr("\x1b"))));
  EXPECT_LT(said("lines", "1", std::string(1 << 20, 'x'))->size(), 120U);
}

TEST(ComparisonTest, OthersAreRefused) {
  for (const char* const text :
       {"", "Lines", "float", "float:", "float:x", "float:-1", "float:inf"}) {
    EXPECT_FALSE(parse_comparison(text)) << text;
  }
}

}  // namespace
}  // namespace glovebox::judge
