// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/policy/policy.h"

namespace glovebox::policy {
namespace {

using testing::HasSubstr;

TEST(PolicyFileTest, ReadsEveryKindOfTable) {
  const auto policy = parse_policy(R"(
description = "A test"
unparsed = "refuse"
dry_run = true
[risk]
ask = 5
refuse = 20
[languages]
allow = ["python"]
otherwise = "refuse"
[python.modules]
refuse = ["ctypes"]
[python.calls]
ask = ["eval"]
[python.attributes]
refuse = ["__globals__"]
[commands]
refuse = ["rm -r /"]
[hosts]
otherwise = "note"
[files.read]
refuse = ["/etc/*"]
[files.write]
ask = ["*"]
[patterns]
otherwise = "ask"
)",
                                   "test.toml");
  ASSERT_TRUE(policy) << policy.error().message();
  EXPECT_EQ(policy->description, "A test");
  EXPECT_EQ(policy->unparsed, Action::kRefuse);
  EXPECT_TRUE(policy->dry_run);
  EXPECT_EQ(policy->ask_at, 5U);
  EXPECT_EQ(policy->refuse_at, 20U);
  EXPECT_EQ(policy->list(Subject::kLanguages, {}).otherwise, Action::kRefuse);
  EXPECT_EQ(policy->list(Subject::kModules, "python").entries.size(), 1U);
  EXPECT_EQ(policy->list(Subject::kModules, "javascript").entries.size(), 0U);
  EXPECT_EQ(policy->list(Subject::kFilesWrite, "python").entries.front().action, Action::kAsk);
}

struct BadFile {
  const char* text;
  const char* message;
  const char* hint;
};

TEST(PolicyFileTest, SaysWhereAndHowAFileIsWrong) {
  for (const BadFile& bad : {
           BadFile{"[patern]\n", "p:1:2: unknown key 'patern'", "did you mean 'patterns'?"},
           BadFile{"[hosts]\nrefuze = []\n", "p:2:1: unknown key 'refuze'",
                   "did you mean 'refuse'?"},
           BadFile{"[python]\ncals = {}\n", "unknown key 'cals'", "did you mean 'calls'?"},
           BadFile{"unparsed = \"allow\"\n", "unknown value 'allow'", "'ask', 'refuse'"},
           BadFile{"[risk]\nask = 0\n", "p:2:7: expected a number", ""},
           BadFile{"[hosts]\nask = \"x\"\n", "expected a list of strings", ""},
           BadFile{"[hosts]\nask = [1]\n", "expected a quoted string", ""},
           BadFile{"[hosts]\nask = [\" \"]\n", "expected one line of text", ""},
           BadFile{"hosts = 3\n", "expected a table", ""},
           BadFile{"[hosts\n", "p:1:", "TOML"},
       }) {
    const auto policy = parse_policy(bad.text, "p");
    ASSERT_FALSE(policy) << bad.text;
    EXPECT_EQ(policy.error().code(), ErrorCode::kInvalid);
    EXPECT_THAT(policy.error().message(), HasSubstr(bad.message));
    EXPECT_THAT(policy.error().hint(), HasSubstr(bad.hint)) << bad.text;
  }
}

TEST(PolicyFileTest, BoundsTheFileAndItsLists) {
  EXPECT_FALSE(parse_policy(std::string(kMaxPolicyFile + 1, '#'), "p"));
  std::string many = "[hosts]\nask = [";
  for (int i = 0; i < 1'025; ++i) {
    many += "\"h\",";
  }
  EXPECT_FALSE(parse_policy(many + "]\n", "p"));
}

TEST(PolicyFileTest, AllShippedPoliciesAndTheirExamplesAreValid) {
  EXPECT_EQ(shipped_policies().size(), 5U);
  for (const std::string_view name : shipped_policies()) {
    const auto policy = parse_policy(shipped_policy(name), name);
    ASSERT_TRUE(policy) << policy.error().message();
    EXPECT_FALSE(policy->description.empty()) << name;
    const auto examples = parse_examples(shipped_examples(name), name);
    ASSERT_TRUE(examples) << examples.error().message();
    EXPECT_FALSE(examples->empty()) << name;
  }
  EXPECT_TRUE(shipped_policy("nothing").empty());
}

TEST(PolicyFileTest, EnforcedRefusesAPatternThatTheKernelCannotHoldWithItsPlace) {
  EXPECT_TRUE(parse_policy("[files.read]\nrefuse = ['*.pem', '.env']\n", "p"));
  EXPECT_TRUE(parse_policy("[files.read]\nenforced = true\nrefuse = ['.env', 'a/*']\n", "p"));
  EXPECT_TRUE(parse_policy("[files.write]\nenforced = false\nrefuse = ['*.pem']\n", "p"));
  const auto bad = parse_policy("[files.read]\nenforced = true\nrefuse = ['.env', '*.pem']\n", "p");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message(), HasSubstr("p:3:19: the kernel cannot hold '*.pem'"));
  EXPECT_THAT(bad.error().hint(), HasSubstr("'out/*'"));
  EXPECT_FALSE(parse_policy("[files.read]\nenforced = 1\n", "p"));
}

TEST(PolicyFileTest, AnExampleNeedsItsExpectation) {
  EXPECT_TRUE(parse_examples("[[example]]\nlanguage='py'\ncode='1'\nexpect='ask'\n", "e"));
  EXPECT_FALSE(parse_examples("[[example]]\nlanguage='py'\ncode='1'\n", "e"));
  EXPECT_FALSE(parse_examples("[[example]]\nlanguage='py'\ncode='1'\nexpect='note'\n", "e"));
  EXPECT_FALSE(parse_examples("[[exmaple]]\n", "e"));
}

TEST(PolicyFileTest, WhatOnlyDemandsWallsNeedsNoAnalysis) {
  const auto examines = [](std::string_view text) {
    const auto policy = parse_policy(text, "p.toml");
    return !policy || policy->examines();
  };
  EXPECT_FALSE(examines("min_tier = 'native'\ndescription = 'x'"));
  EXPECT_FALSE(examines("[commands]\nwritten = 'refuse'"));
  EXPECT_TRUE(examines("min_tier = 'native'\nunparsed = 'ask'"));
  EXPECT_TRUE(examines("min_tier = 'native'\n[commands]\nrefuse = ['rm']"));
  EXPECT_TRUE(examines("min_tier = 'native'\n[python.calls]\nask = ['eval']"));
  EXPECT_TRUE(examines(""));
}

}  // namespace
}  // namespace glovebox::policy
