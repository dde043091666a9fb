// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/file_places.h"

#include <gtest/gtest.h>

namespace glovebox::policy {
namespace {

// Of a table [files.read], as text.
RuleList files_of(const std::string& text) {
  const auto policy = parse_policy("[files.read]\n" + text, "p.toml");
  EXPECT_TRUE(policy) << policy.error().message();
  return policy ? policy->list(Subject::kFilesRead, {}) : RuleList();
}

std::string why(const std::string& text) {
  const RuleList files = files_of(text);
  return why_not_held(files, files.entries.back());
}

TEST(FilePlacesTest, WhatIsOneFileOrAWholeDirectoryIsHeld) {
  for (const char* const text :
       {"refuse = ['.env']", "refuse = ['secrets/*']", "refuse = ['~/a/b/**']",
        "allow = ['src/*']\notherwise = 'refuse'", "ask = ['/tmp/**']\notherwise = 'refuse'",
        "note = ['a.txt']\notherwise = 'refuse'", "allow = ['~/*']\notherwise = 'refuse'"}) {
    EXPECT_EQ(why(text), "") << text;
  }
}

TEST(FilePlacesTest, WhatMakesNoDifferenceToTheKernelIsHeld) {
  EXPECT_EQ(why("ask = ['*.pem']"), "");
  EXPECT_EQ(why("allow = ['*']\notherwise = 'ask'"), "");
}

TEST(FilePlacesTest, WildcardsElsewhereAndPlacesOutsideAreNotHeld) {
  for (const char* const text :
       {"refuse = ['*.pem']", "refuse = ['.*']", "refuse = ['/etc/*']", "refuse = ['../a']",
        "refuse = ['~/*']", "refuse = ['a/*']\nallow = ['a/b']",
        "allow = ['src/*.py']\notherwise = 'refuse'", "allow = ['src*']\notherwise = 'refuse'",
        "allow = ['*']\notherwise = 'refuse'", "ask = ['a?']\notherwise = 'refuse'"}) {
    EXPECT_NE(why(text), "") << text;
  }
}

TEST(FilePlacesTest, WhereTheRestIsNotRefusedAllIsOpenButWhatIsClosed) {
  const FilePlaces places = file_places_of(files_of("allow = ['src/*']\nrefuse = ['.env']"));
  EXPECT_FALSE(places.open);
  EXPECT_EQ(places.closed, std::vector<std::string>{".env"});
}

TEST(FilePlacesTest, APatternThatMatchesAnywhereOpensAll) {
  EXPECT_FALSE(file_places_of(files_of("allow = ['a/*', '*.md']\notherwise = 'refuse'")).open);
}

}  // namespace
}  // namespace glovebox::policy
