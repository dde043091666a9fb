// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/cell_history.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

bool all_live(const std::string&) { return true; }

TEST(CellHistoryTest, KnowsTheCellsOfEachContextInTheirOrder) {
  CellHistory history;
  history.add("t", "s", "a", "x = 1", all_live);
  history.add("t", "s", "b", "y = 1", all_live);
  history.add("t", "s", "a", "x = 2", all_live);
  EXPECT_EQ(history.of("t", "s", "a").code, "x = 1\nx = 2\n");
  EXPECT_EQ(history.of("t", "s", "b").code, "y = 1\n");
  EXPECT_EQ(history.of("other", "s", "a").code, "");
  EXPECT_TRUE(history.of("other", "s", "a").whole);
}

TEST(CellHistoryTest, SaysWhenNotAllOfIt) {
  CellHistory history;
  history.add("t", "s", "a", "x = 1", all_live);
  history.add("t", "s", "a", std::string(CellHistory::kMostOfContext, ' '), all_live);
  EXPECT_FALSE(history.of("t", "s", "a").whole);
  history.copy("t", "s", "a", "b");
  EXPECT_FALSE(history.of("t", "s", "b").whole);
}

TEST(CellHistoryTest, AForkKnowsWhatItsParentKnew) {
  CellHistory history;
  history.add("t", "s", "a", "x = 1", all_live);
  history.copy("t", "s", "a", "b");
  history.add("t", "s", "b", "y = 1", all_live);
  EXPECT_EQ(history.of("t", "s", "a").code, "x = 1\n");
  EXPECT_EQ(history.of("t", "s", "b").code, "x = 1\ny = 1\n");
}

TEST(CellHistoryTest, MakesRoomWhereSandboxesEndedAndElseTrustsNoContextThatItDoesNotKnow) {
  const std::string cell(CellHistory::kMostOfContext / 2, ' ');
  CellHistory history;
  for (std::size_t i = 0; i <= CellHistory::kMostOfTenant / cell.size(); ++i) {
    history.add("t", "s" + std::to_string(i), "a", cell, all_live);
  }
  history.add("t", "new", "a", cell, all_live);
  EXPECT_FALSE(history.of("t", "new", "a").whole);
  history.add("t", "newer", "a", cell, [](const std::string& sandbox) { return sandbox == "new"; });
  EXPECT_EQ(history.of("t", "newer", "a").code, cell + "\n");
  EXPECT_FALSE(history.of("t", "new", "a").whole);
}

TEST(CellHistoryTest, KnowsNoContextBeyondItsMost) {
  CellHistory history;
  for (std::size_t i = 0; i < CellHistory::kMostContexts; ++i) {
    history.add("t", "s", std::to_string(i), "", all_live);
  }
  EXPECT_FALSE(history.of("t", "s", "one more").whole);
  history.add("t", "s", "one more", "x", all_live);
  EXPECT_FALSE(history.of("t", "s", "one more").whole);
}

}  // namespace
}  // namespace glovebox
