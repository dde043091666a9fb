// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/fact.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace glovebox::policy {
namespace {

TEST(FactTest, ReadsWhatAnAnalyserPrints) {
  const auto facts = parse_facts(
      "name\tos.system\t3\t7\n"
      "command\trm\t3\t7\trm\t-rf\t\n"
      "read\tx\\t\\n\\\\\t1\t1\n"
      "write\t\t1\t1\n");
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->size(), 4U);
  EXPECT_EQ(facts->at(0).kind, FactKind::kName);
  EXPECT_EQ(facts->at(0).line, 3U);
  EXPECT_EQ(facts->at(0).column, 7U);
  EXPECT_EQ(facts->at(1).argv, (std::vector<std::string>{"rm", "-rf", ""}));
  EXPECT_EQ(facts->at(2).kind, FactKind::kFileRead);
  EXPECT_EQ(facts->at(2).name, "x\t\n\\");
  EXPECT_EQ(facts->at(3).kind, FactKind::kFileWrite);
}

TEST(FactTest, RefusesWhatNoAnalyserPrints) {
  for (const char* const lines :
       {"\n", "{}\n", "name\tx\t1\t1", "name\tx\t1\n", "nothing\tx\t1\t1\n",
        "name\tx\t1\t1\tword\n", "command\trm\t1\t1\n", "name\tx\\r\t1\t1\n", "name\tx\\\t1\t1\n",
        "name\t\xff\t1\t1\n", "name\tx\t0\t1\n", "name\tx\t1\t-4\n", "name\tx\t+1\t1\n",
        "name\tx\t1 \t1\n", "name\tx\t1\t4294967296\n", "name\tx\t1\t1\n\nname\tx\t1\t1\n"}) {
    EXPECT_FALSE(parse_facts(lines)) << lines;
  }
}

TEST(FactTest, NoFactsAreNoLines) {
  const auto facts = parse_facts("");
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->empty());
}

}  // namespace
}  // namespace glovebox::policy
