// SPDX-License-Identifier: Apache-2.0
#include "language/toml_guard.h"

#include <string>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

// "line:column" of what is found; empty when nothing is.
std::string found(const std::string& text) {
  const auto fault = guard_toml(text).fault;
  return fault ? std::to_string(fault->line) + ":" + std::to_string(fault->column) : "";
}

TEST(TomlGuardTest, ReplacesLettersBeyondAsciiInComments) {
  EXPECT_EQ(found("a = 1 # é€"), "");
  EXPECT_EQ(guard_toml("a = 1 # é€ b").text, "a = 1 # ?? b");
}

TEST(TomlGuardTest, DropsAByteOrderMark) {
  EXPECT_EQ(found("\xef\xbb\xbf"
                  "a = 1"),
            "");
  EXPECT_EQ(guard_toml("\xef\xbb\xbf"
                       "a = 1")
                .text,
            "a = 1");
}

TEST(TomlGuardTest, FindsLettersBeyondAsciiElsewhere) {
  EXPECT_EQ(found("a = 1\n  é = 2"), "2:3");
  EXPECT_EQ(found("a = 'é'"), "1:6");
  EXPECT_EQ(found("a = \"b\"\nc = \"# é\""), "2:8");
  EXPECT_EQ(found("a = \"\"\"b\n\"é\"\"\""), "2:2");
}

TEST(TomlGuardTest, NeverGivesAnyToTheLibrary) {
  for (const std::string text : {"a = 0[\".é", "[\"\"\"S\"\"é", "a = \"\"\"b\\\né", "#é", "é"}) {
    for (const char c : guard_toml(text).text) {
      EXPECT_LT(static_cast<unsigned char>(c), 0x80) << text;
    }
  }
}

TEST(TomlGuardTest, LetsTextsAndListsPass) {
  EXPECT_EQ(found("\"a\".\"b\" = \"c\"\n[\"d\"]\ne = [ \"f\", 'g',\n'h' ]\ni = {\"j\" = \"k\"}\n"),
            "");
}

TEST(TomlGuardTest, FindsTablesWithoutAName) {
  EXPECT_EQ(found("[\nx]"), "1:1");
  EXPECT_EQ(found("a = 1\n [[ #\nx]"), "2:2");
  EXPECT_EQ(found("["), "1:1");
}

TEST(TomlGuardTest, LetsTablesAndListsPass) {
  EXPECT_EQ(found("[a]\n[ \"b\" ]\n[[c.d]]\n[]\nx = [\n  1,\n]\ny = [[1], [2]]\n"), "");
}

TEST(TomlGuardTest, BoundsTheDepthOfDottedKeys) {
  std::string key = "a";
  for (int i = 0; i < 256; ++i) {
    key += ".a";
  }
  EXPECT_EQ(found(key + " = 1"), "");
  EXPECT_EQ(found(key + ".a = 1"), "1:514");
}

TEST(TomlGuardTest, DoesNotCountDotsInTexts) {
  EXPECT_EQ(found("a = \"" + std::string(1'000, '.') + "\""), "");
}

TEST(TomlGuardTest, SurvivesStringsThatNeverEnd) {
  for (const std::string text :
       {"a = \"", "a = \"\\", "a = '", "a = \"\"\"", "a = '''x''", "\"\"\"\\"}) {
    EXPECT_EQ(found(text), "") << text;
  }
}

}  // namespace
}  // namespace glovebox
