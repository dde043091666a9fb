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
  facts.add(Kind::kFileWrite, "a\"b\n", {});
  facts.add_command("rm", {"/bin/rm", "-r"}, {});
  EXPECT_EQ(facts.json(),
            R"([{"kind":"name","name":"os.system","line":3,"column":5},)"
            R"({"kind":"file","name":"a\"b\u000a","line":1,"column":1,"mode":"write"},)"
            R"({"kind":"command","name":"rm","line":1,"column":1,"argv":["/bin/rm","-r"]}])");
}

TEST(FactsTest, MoreThanTheBoundIsOneFactThatNothingAllows) {
  Facts facts;
  for (std::size_t i = 0; i < Facts::kMost + 10; ++i) {
    facts.add(Kind::kName, std::to_string(i), {});
  }
  EXPECT_TRUE(facts.full());
  EXPECT_EQ(facts.size(), Facts::kMost + 1);
  EXPECT_NE(facts.json().find("too much in it"), std::string::npos);
}

TEST(FactsTest, ALongNameIsCutBetweenCharacters) {
  Facts facts;
  facts.add(Kind::kName, std::string(Facts::kMostName - 1, 'a') + "é", {});
  EXPECT_EQ(facts.json().find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_NE(facts.json().find("a\","), std::string::npos);
}

}  // namespace
}  // namespace glovebox::analyser
