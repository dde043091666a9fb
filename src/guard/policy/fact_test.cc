// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/fact.h"

#include <gtest/gtest.h>

namespace glovebox::policy {
namespace {

TEST(FactTest, ReadsWhatAnAnalyserPrints) {
  const auto facts =
      parse_facts(R"([{"kind":"name","name":"os.system","line":3,"column":7},)"
                  R"({"kind":"command","name":"rm","line":3,"column":7,"argv":["rm","-rf","/"]},)"
                  R"({"kind":"file","name":"x","line":1,"column":1,"mode":"read"},)"
                  R"({"kind":"file","name":"x","line":1,"column":1,"mode":"write"}])");
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->size(), 4U);
  EXPECT_EQ(facts->at(0).kind, FactKind::kName);
  EXPECT_EQ(facts->at(0).line, 3U);
  EXPECT_EQ(facts->at(0).column, 7U);
  EXPECT_EQ(facts->at(1).argv.size(), 3U);
  EXPECT_EQ(facts->at(2).kind, FactKind::kFileRead);
  EXPECT_EQ(facts->at(3).kind, FactKind::kFileWrite);
}

TEST(FactTest, RefusesWhatNoAnalyserPrints) {
  for (const char* const line :
       {"", "{}", "[1]", R"([{"kind":"name"}])", R"([{"kind":"nothing","name":"x"}])",
        R"([{"kind":"command","name":"rm"}])", R"([{"kind":"command","name":"rm","argv":[]}])",
        R"([{"kind":"command","name":"rm","argv":[1]}])", R"([{"kind":"name","name":1}])",
        "[[[[[[[[[[]]]]]]]]]]"}) {
    EXPECT_FALSE(parse_facts(line)) << line;
  }
}

TEST(FactTest, APlaceIsNeverZeroOrNegative) {
  const auto facts = parse_facts(R"([{"kind":"name","name":"x","line":0,"column":-4}])");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->front().line, 1U);
  EXPECT_EQ(facts->front().column, 1U);
}

}  // namespace
}  // namespace glovebox::policy
