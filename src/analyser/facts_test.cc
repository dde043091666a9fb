// SPDX-License-Identifier: Apache-2.0
#include "analyser/facts.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::analyser {
namespace {

TEST(FactsTest, EachIsPrintedOnceWithItsPlace) {
  Facts facts;
  facts.add(Kind::kName, "os.system", {.line = 3, .column = 5});
  facts.add(Kind::kName, "os.system", {.line = 3, .column = 5});
  facts.add(Kind::kFileWrite, "a\tb\n\\", {});
  facts.add_command("rm", {"/bin/rm", "", "-r"}, {});
  facts.add(Kind::kName, "os.system", {.line = 3, .column = 5});
  EXPECT_EQ(facts.lines(),
            "name\tos.system\t3\t5\n"
            "write\ta\\tb\\n\\\\\t1\t1\n"
            "command\trm\t1\t1\t/bin/rm\t\t-r\n");
  EXPECT_EQ(facts.size(), 3U);
}

TEST(FactsTest, MoreThanTheBoundIsOneFactThatNothingAllows) {
  Facts facts;
  for (std::size_t i = 0; i < Facts::kMost + 10; ++i) {
    facts.add(Kind::kName, std::to_string(i), {});
  }
  EXPECT_TRUE(facts.full());
  EXPECT_EQ(facts.size(), Facts::kMost + 1);
  EXPECT_NE(facts.lines().find("too much in it"), std::string::npos);
}

TEST(FactsTest, ALongNameIsCutBetweenCharacters) {
  Facts facts;
  facts.add(Kind::kName, std::string(Facts::kMostName - 1, 'a') + "é", {});
  EXPECT_EQ(facts.lines().find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_NE(facts.lines().find("a\t"), std::string::npos);
}

}  // namespace
}  // namespace glovebox::analyser
