// SPDX-License-Identifier: Apache-2.0
#include "spec/place_rules.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

using Places = std::vector<std::string>;

PlaceRules of(const Places& first, const Places& second) {
  PlaceRules rules;
  rules.restrict_to(first);
  rules.restrict_to(second);
  return rules;
}

TEST(PlaceRulesTest, WithoutARuleEverythingCanBeWritten) { EXPECT_TRUE(PlaceRules{}.empty()); }

TEST(PlaceRulesTest, OfTwoListsOnlyWhatBothContainIsLeft) {
  EXPECT_EQ(of({"out/", "/tmp/"}, {"out/plots/", "src/"}).places, Places{"out/plots/"});
  EXPECT_EQ(of({"out/plots/", "src/"}, {"out/", "/tmp/"}).places, Places{"out/plots/"});
  EXPECT_EQ(of({"out/"}, {"src/"}).places, Places{});
  EXPECT_FALSE(of({"out/"}, {"src/"}).empty());
}

TEST(PlaceRulesTest, TheWholeWorkspaceContainsWhatIsRelative) {
  EXPECT_EQ(of({"./", "/tmp/"}, {"out/", "/dev/shm/", "a.txt"}).places, (Places{"a.txt", "out/"}));
}

TEST(PlaceRulesTest, APlaceInAnotherOneIsNotKept) {
  EXPECT_EQ(of({"out/", "out/plots/", "out/a.txt", "outer/"}, {"./"}).places,
            (Places{"out/", "outer/"}));
}

TEST(PlaceRulesTest, AFileContainsNothing) {
  EXPECT_EQ(of({"out"}, {"out/", "out"}).places, Places{"out"});
  EXPECT_EQ(of({"out"}, {"out/x"}).places, Places{});
}

TEST(PlaceRulesTest, ADirectoryAndAFileOfOneNameAreTheDirectory) {
  EXPECT_EQ(of({"out", "out/"}, {"./"}).places, Places{"out/"});
}

TEST(PlaceRulesTest, APlaceThatIsPermittedIsOpenBesideTheOthers) {
  PlaceRules rules = of({"src/"}, {"./"});
  EXPECT_TRUE(rules.covers("src/a.py"));
  EXPECT_FALSE(rules.covers("main.py"));
  rules.permit("main.py");
  rules.permit("src/a.py");
  EXPECT_EQ(rules.places, (Places{"src/", "main.py"}));
}

TEST(PlaceRulesTest, PlacesThatLeadElsewhereAreInvalid) {
  for (const char* const place : {"", "/", "..", "../x", "a/../b", "a//b", ".", "a/./b", "//"}) {
    EXPECT_FALSE(validate(PlaceRules{.everywhere = false, .places = {place}})) << place;
  }
  for (const char* const place : {"./", "a", "a/", "/tmp/", "/tmp/a", "a/b.c"}) {
    EXPECT_TRUE(validate(PlaceRules{.everywhere = false, .places = {place}})) << place;
  }
}

}  // namespace
}  // namespace glovebox
