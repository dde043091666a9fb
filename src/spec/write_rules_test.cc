// SPDX-License-Identifier: Apache-2.0
#include "spec/write_rules.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

using Places = std::vector<std::string>;

WriteRules of(const Places& first, const Places& second) {
  WriteRules rules;
  rules.restrict_to(first);
  rules.restrict_to(second);
  return rules;
}

TEST(WriteRulesTest, WithoutARuleEverythingCanBeWritten) { EXPECT_TRUE(WriteRules{}.empty()); }

TEST(WriteRulesTest, OfTwoListsOnlyWhatBothContainIsLeft) {
  EXPECT_EQ(of({"out/", "/tmp/"}, {"out/plots/", "src/"}).places, Places{"out/plots/"});
  EXPECT_EQ(of({"out/plots/", "src/"}, {"out/", "/tmp/"}).places, Places{"out/plots/"});
  EXPECT_EQ(of({"out/"}, {"src/"}).places, Places{});
  EXPECT_FALSE(of({"out/"}, {"src/"}).empty());
}

TEST(WriteRulesTest, TheWholeWorkspaceContainsWhatIsRelative) {
  EXPECT_EQ(of({"./", "/tmp/"}, {"out/", "/dev/shm/", "a.txt"}).places, (Places{"a.txt", "out/"}));
}

TEST(WriteRulesTest, APlaceInAnotherOneIsNotKept) {
  EXPECT_EQ(of({"out/", "out/plots/", "out/a.txt", "outer/"}, {"./"}).places,
            (Places{"out/", "outer/"}));
}

TEST(WriteRulesTest, AFileContainsNothing) {
  EXPECT_EQ(of({"out"}, {"out/", "out"}).places, Places{"out"});
  EXPECT_EQ(of({"out"}, {"out/x"}).places, Places{});
}

TEST(WriteRulesTest, ADirectoryAndAFileOfOneNameAreTheDirectory) {
  EXPECT_EQ(of({"out", "out/"}, {"./"}).places, Places{"out/"});
}

TEST(WriteRulesTest, PlacesThatLeadElsewhereAreInvalid) {
  for (const char* const place : {"", "/", "..", "../x", "a/../b", "a//b", ".", "a/./b", "//"}) {
    EXPECT_FALSE(validate(WriteRules{.everywhere = false, .places = {place}})) << place;
  }
  for (const char* const place : {"./", "a", "a/", "/tmp/", "/tmp/a", "a/b.c"}) {
    EXPECT_TRUE(validate(WriteRules{.everywhere = false, .places = {place}})) << place;
  }
}

}  // namespace
}  // namespace glovebox
