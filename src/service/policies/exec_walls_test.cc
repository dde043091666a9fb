// SPDX-License-Identifier: Apache-2.0
#include "service/policies/exec_walls.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

policy::Policy policy_of(std::string_view text) {
  auto policy = policy::parse_policy(text, "p.toml");
  EXPECT_TRUE(policy) << policy.error().message();
  return policy ? *std::move(policy) : policy::Policy();
}

TEST(ExecWallsTest, ARefusalWithArgumentsAndAQuestionAreNoWalls) {
  const ExecRules rules = exec_rules_of({policy_of(R"([commands]
refuse = ["rm -r /"]
ask = ["sudo"]
otherwise = "ask")")});
  EXPECT_TRUE(rules.empty());
}

TEST(ExecWallsTest, ARefusedProgramIsAWallAndSoIsWhatTheGuestWrites) {
  const ExecRules rules = exec_rules_of({policy_of("[commands]\nrefuse = ['nc', 'git push']")});
  ASSERT_EQ(rules.lists.size(), 1U);
  EXPECT_EQ(rules.lists[0].refuse, std::vector<std::string>{"nc"});
  EXPECT_TRUE(rules.lists[0].others);
  EXPECT_FALSE(rules.written);
}

TEST(ExecWallsTest, APolicyCanLetWrittenProgramsStart) {
  EXPECT_TRUE(exec_rules_of({policy_of("[commands]\nrefuse = ['nc']\nwritten = 'allow'")}).written);
  EXPECT_FALSE(exec_rules_of({policy_of("[commands]\nwritten = 'refuse'")}).written);
}

TEST(ExecWallsTest, AProgramThatIsAllowedWithSomeArgumentsCanBeStarted) {
  const ExecRules rules =
      exec_rules_of({policy_of("[commands]\nallow = ['git status']\notherwise = 'refuse'")});
  ASSERT_EQ(rules.lists.size(), 1U);
  EXPECT_EQ(rules.lists[0].allow, std::vector<std::string>{"git"});
  EXPECT_TRUE(rules.names_all());
}

TEST(ExecWallsTest, TheStricterOfTwoPoliciesDecidesAboutWrittenPrograms) {
  EXPECT_FALSE(exec_rules_of({policy_of("[commands]\nrefuse = ['nc']\nwritten = 'allow'"),
                              policy_of("[commands]\nrefuse = ['ssh']")})
                   .written);
}

TEST(ExecWallsTest, AProgramThatWouldBeCompiledIsRefusedWhereNothingWrittenStarts) {
  Language compiled;
  compiled.id = "c";
  compiled.compile = {"gcc"};
  compiled.run = {"{dir}/{stem}"};
  const auto refused =
      exec_rules_for(compiled, exec_rules_of({policy_of("[commands]\nrefuse = ['nc']")}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kRefused);
}

}  // namespace
}  // namespace glovebox
