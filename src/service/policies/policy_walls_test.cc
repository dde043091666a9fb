// SPDX-License-Identifier: Apache-2.0
#include "service/policies/policy_walls.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

policy::Policy policy_of(std::string_view text) {
  auto policy = policy::parse_policy(text, "p.toml");
  EXPECT_TRUE(policy) << policy.error().message();
  return policy ? *std::move(policy) : policy::Policy();
}

ExecRules exec_of(const std::vector<policy::Policy>& policies) {
  return guest_rules_of(policies).exec;
}

// Of policies with one list of files each.
PlaceRules write_of(const std::vector<std::string>& lists) {
  std::vector<policy::Policy> policies;
  for (const std::string& list : lists) {
    policies.push_back(policy_of("[files.write]\n" + list));
  }
  return guest_rules_of(policies).write;
}

TEST(PolicyWallsTest, ARefusalWithArgumentsAndAQuestionAreNoWalls) {
  const ExecRules rules = exec_of({policy_of(R"([commands]
refuse = ["rm -r /"]
ask = ["sudo"]
otherwise = "ask")")});
  EXPECT_TRUE(rules.empty());
}

TEST(PolicyWallsTest, ARefusedProgramIsAWallAndSoIsWhatTheGuestWrites) {
  const ExecRules rules = exec_of({policy_of("[commands]\nrefuse = ['nc', 'git push']")});
  ASSERT_EQ(rules.lists.size(), 1U);
  EXPECT_EQ(rules.lists[0].refuse, std::vector<std::string>{"nc"});
  EXPECT_TRUE(rules.lists[0].others);
  EXPECT_FALSE(rules.written);
}

TEST(PolicyWallsTest, APolicyCanLetWrittenProgramsStart) {
  EXPECT_TRUE(exec_of({policy_of("[commands]\nrefuse = ['nc']\nwritten = 'allow'")}).written);
  EXPECT_FALSE(exec_of({policy_of("[commands]\nwritten = 'refuse'")}).written);
}

TEST(PolicyWallsTest, AProgramThatIsAllowedWithSomeArgumentsCanBeStarted) {
  const ExecRules rules =
      exec_of({policy_of("[commands]\nallow = ['git status']\notherwise = 'refuse'")});
  ASSERT_EQ(rules.lists.size(), 1U);
  EXPECT_EQ(rules.lists[0].allow, std::vector<std::string>{"git"});
  EXPECT_TRUE(rules.names_all());
}

TEST(PolicyWallsTest, TheStricterOfTwoPoliciesDecidesAboutWrittenPrograms) {
  EXPECT_FALSE(exec_of({policy_of("[commands]\nrefuse = ['nc']\nwritten = 'allow'"),
                        policy_of("[commands]\nrefuse = ['ssh']")})
                   .written);
}

TEST(PolicyWallsTest, AProgramThatWouldBeCompiledIsRefusedWhereNothingWrittenStarts) {
  Language compiled;
  compiled.id = "c";
  compiled.compile = {"gcc"};
  compiled.run = {"{dir}/{stem}"};
  const auto refused =
      rules_for(compiled, "main.c", guest_rules_of({policy_of("[commands]\nrefuse = ['nc']")}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kRefused);
}

TEST(PolicyWallsTest, WhereTheRestIsRefusedAProgramReadsItselfAndWhatIsNamed) {
  Language script;
  script.id = "python";
  script.run = {"python3", "{file}"};
  const GuestRules rules =
      guest_rules_of({policy_of("[files.read]\nallow = ['data/*']\nrefuse = ['data/key']\n"
                                "otherwise = 'refuse'")});
  const auto own = rules_for(script, "main.py", rules);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->read.places, (std::vector<std::string>{"data/", "main.py"}));
  EXPECT_EQ(own->read.closed, std::vector<std::string>{"data/key"});
  EXPECT_TRUE(own->write.empty());

  Language compiled = script;
  compiled.compile = {"javac", "{file}"};
  EXPECT_FALSE(rules_for(compiled, "main.java", rules));
  EXPECT_TRUE(rules_for(compiled, "main.java",
                        guest_rules_of({policy_of("[files.read]\nallow = ['~/*']\n"
                                                  "otherwise = 'refuse'")})));
}

TEST(PolicyWallsTest, WhereTheRestIsRefusedOnlyWhatIsNamedCanBeWritten) {
  using Places = std::vector<std::string>;
  EXPECT_EQ(
      write_of({"allow = ['out/*', '/tmp/*']\nask = ['report.txt']\notherwise = 'refuse'"}).places,
      (Places{"/tmp/", "out/", "report.txt"}));
  EXPECT_EQ(write_of({"allow = ['~/plots/*.png', './a/b?', '/workspace/c']\notherwise = 'refuse'"})
                .places,
            (Places{"a/", "c", "plots/"}));
  EXPECT_EQ(write_of({"allow = ['~/*']\notherwise = 'refuse'"}).places, Places{"./"});
  EXPECT_EQ(write_of({"otherwise = 'refuse'"}).places, Places{});
  EXPECT_FALSE(write_of({"otherwise = 'refuse'"}).everywhere);
}

TEST(PolicyWallsTest, APathThatLeadsOutIsNoPlace) {
  EXPECT_TRUE(write_of({"allow = ['../x/*', 'a/../b']\notherwise = 'refuse'"}).places.empty());
}

TEST(PolicyWallsTest, ARefusedFileOrDirectoryOfTheWorkspaceIsClosed) {
  using Places = std::vector<std::string>;
  EXPECT_EQ(write_of({"refuse = ['.git/hooks/*', '~/.ssh/**', './.env', '/workspace/a/b']"}).closed,
            (Places{".env", ".git/hooks/", ".ssh/", "a/b"}));
  EXPECT_TRUE(write_of({"refuse = ['.git/hooks/*']"}).everywhere);
  EXPECT_EQ(write_of({"allow = ['out/*']\nrefuse = ['out/x/*']\notherwise = 'refuse'"}).closed,
            Places{"out/x/"});
  EXPECT_EQ(write_of({"refuse = ['a']", "refuse = ['a', 'b']"}).closed, (Places{"a", "b"}));
}

TEST(PolicyWallsTest, WhatIsNoOneFileOrHasAHoleIsNotClosed) {
  EXPECT_TRUE(write_of({"refuse = ['*.pem', '.*', 'src/*.lock', '/etc/*', '../x', '~/*', './*']",
                        "refuse = ['a/*']\nallow = ['a/b']", "ask = ['.env']"})
                  .empty());
}

TEST(PolicyWallsTest, AQuestionAndAPatternThatMatchesAnywhereAreNoWalls) {
  EXPECT_TRUE(write_of({"allow = ['out/*']\notherwise = 'ask'"}).everywhere);
  EXPECT_TRUE(write_of({"allow = ['*.csv', 'out/*']\notherwise = 'refuse'"}).everywhere);
}

TEST(PolicyWallsTest, OfTwoPoliciesOnlyWhatBothAllowCanBeWritten) {
  EXPECT_EQ(write_of({"allow = ['out/*', 'src/*']\notherwise = 'refuse'",
                      "allow = ['out/a/*']\notherwise = 'refuse'", "ask = ['*']"})
                .places,
            std::vector<std::string>{"out/a/"});
}

}  // namespace
}  // namespace glovebox
