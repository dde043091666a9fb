// SPDX-License-Identifier: Apache-2.0
#include "language/toml_guard.h"

#include <string>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

// "line:column" of what is found; empty when nothing is.
std::string found(const std::string& text) {
  const auto fault = toml_fault(text);
  return fault ? std::to_string(fault->line) + ":" + std::to_string(fault->column) : "";
}

TEST(TomlGuardTest, LetsLettersBeyondAsciiStandInTextsAndComments) {
  EXPECT_EQ(found("a = \"é\" # é\nb = 'é'\nc = \"\"\"\né\"é\\\"\"\"\"\nd = '''\né''é'''\n"), "");
  EXPECT_EQ(found("\xef\xbb\xbf"
                  "a = 1"),
            "");
}

TEST(TomlGuardTest, FindsLettersBeyondAsciiElsewhere) {
  EXPECT_EQ(found("a = 1\n  é = 2"), "2:3");
  EXPECT_EQ(found("a = 'é' é"), "1:9");
  EXPECT_EQ(found("a = \"x\né"), "2:1");
  EXPECT_EQ(found("a = \"\"\"x\"\"\"\"\" é"), "1:15");
  EXPECT_EQ(found("a = '''x''' \u00a0"), "1:13");
}

TEST(TomlGuardTest, FindsTextsWhereTheLibrarySeesNone) {
  EXPECT_EQ(found("a = 1\"é\""), "1:6");
  EXPECT_EQ(found("a = b \"é\""), "1:7");
  EXPECT_EQ(found("a = \"b\" \"é\""), "1:9");
}

TEST(TomlGuardTest, LetsTextsStandWhereTheyMay) {
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
