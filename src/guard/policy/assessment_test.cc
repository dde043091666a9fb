// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/assessment.h"

#include <gtest/gtest.h>

#include "guard/policy/assessment_json.h"

namespace glovebox::policy {
namespace {

Policy policy_of(const std::string& text, const std::string& name = "p") {
  auto policy = parse_policy(text, name);
  EXPECT_TRUE(policy) << policy.error().message();
  return *std::move(policy);
}

Program python(std::vector<Fact> facts) {
  return {.language = "python", .family = "python", .facts = std::move(facts)};
}

Fact call(const std::string& name, std::uint32_t line = 1) {
  return {.kind = FactKind::kName, .name = name, .line = line, .column = 2};
}

TEST(AssessmentTest, AllowsWhatNoPolicyMentions) {
  EXPECT_EQ(assess({}, python({call("eval")})).decision, Action::kAllow);
  EXPECT_EQ(assess({policy_of("")}, python({call("eval")})).decision, Action::kAllow);
}

TEST(AssessmentTest, AFindingHasItsRulePlaceAndReason) {
  const Assessment result =
      assess({policy_of("[python.calls]\nrefuse = ['eval']\n")}, python({call("eval", 7)}));
  EXPECT_EQ(result.decision, Action::kRefuse);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings.front().rule, "B307");
  EXPECT_EQ(result.findings.front().line, 7U);
  EXPECT_EQ(result.findings.front().column, 2U);
  EXPECT_EQ(result.findings.front().subject, "eval");
  EXPECT_EQ(result.findings.front().reason, "runs text as code");
}

TEST(AssessmentTest, TheStrictestOfSeveralPoliciesDecides) {
  const Policy asks = policy_of("[python.calls]\nask = ['eval']\n", "asks");
  const Policy refuses = policy_of("[python.calls]\nrefuse = ['eval']\n", "refuses");
  const Policy allows = policy_of("[python.calls]\nallow = ['eval']\n", "allows");
  EXPECT_EQ(assess({asks, refuses, allows}, python({call("eval")})).decision, Action::kRefuse);
  EXPECT_EQ(assess({allows, asks}, python({call("eval")})).decision, Action::kAsk);
}

TEST(AssessmentTest, ADryRunComesFirstOnlyWhereEachPolicyThatAsksWantsOne) {
  const Policy tries = policy_of("dry_run = true\n[python.calls]\nask = ['eval']\n");
  const Policy asks = policy_of("[python.calls]\nask = ['eval']\n");
  const Policy refuses = policy_of("dry_run = true\n[python.calls]\nrefuse = ['eval']\n");
  const Policy silent = policy_of("[python.calls]\nask = ['exec']\n");
  const Policy risky = policy_of("[risk]\nask = 1\n[python.calls]\nnote = ['eval']\n");
  EXPECT_TRUE(assess({tries}, python({call("eval")})).dry_run_first);
  EXPECT_TRUE(assess({tries, silent}, python({call("eval")})).dry_run_first);
  EXPECT_FALSE(assess({tries, asks}, python({call("eval")})).dry_run_first);
  EXPECT_FALSE(assess({tries, risky}, python({call("eval")})).dry_run_first);
  EXPECT_FALSE(assess({tries, refuses}, python({call("eval")})).dry_run_first);
  EXPECT_FALSE(assess({tries}, python({call("open")})).dry_run_first);
}

TEST(AssessmentTest, FindingsThatAreOnlyNotedAddUpToTheThresholds) {
  const Policy policy = policy_of("[risk]\nask = 3\nrefuse = 4\n[hosts]\notherwise = 'note'\n");
  const auto hosts = [](int count) {
    std::vector<Fact> facts;
    for (int i = 0; i < count; ++i) {
      facts.push_back({.kind = FactKind::kHost,
                       .name = "h",
                       .line = static_cast<std::uint32_t>(i + 1),
                       .column = 1});
    }
    return facts;
  };
  EXPECT_EQ(assess({policy}, python(hosts(2))).decision, Action::kAllow);
  const Assessment asked = assess({policy}, python(hosts(3)));
  EXPECT_EQ(asked.decision, Action::kAsk);
  EXPECT_EQ(asked.decided_by, "p");
  // One rule counts three times at most.
  EXPECT_EQ(assess({policy}, python(hosts(100))).decision, Action::kAsk);
}

TEST(AssessmentTest, WhatCannotBeParsedNeverPasses) {
  const std::vector<Fact> facts = {{.kind = FactKind::kUnparsed, .name = "why"}};
  EXPECT_EQ(assess({policy_of("")}, python(facts)).decision, Action::kAsk);
  EXPECT_EQ(assess({policy_of("unparsed = 'refuse'")}, python(facts)).decision, Action::kRefuse);
}

TEST(AssessmentTest, ALanguageThatThePolicyDoesNotMentionDoesNotPass) {
  const Program java{.language = "java", .family = "java", .facts = {}};
  const Program script{.language = "javascript", .family = "javascript", .facts = {}};
  EXPECT_EQ(assess({policy_of("[commands]\nrefuse = ['rm']\n")}, java).decision, Action::kAsk);
  EXPECT_EQ(assess({policy_of("[java.calls]\nrefuse = ['Runtime']\n")}, java).decision,
            Action::kAllow);
  EXPECT_EQ(assess({policy_of("[languages]\nallow = ['java']\n")}, java).decision, Action::kAllow);
  EXPECT_EQ(assess({policy_of("[commands]\nrefuse = ['rm']\n")}, script).decision, Action::kAllow);
}

TEST(AssessmentTest, ALanguageWithoutAnalysisPassesOnlyWhereThePolicyNamesIt) {
  const Program program{.language = "cobol", .family = {}, .facts = {}};
  EXPECT_EQ(assess({policy_of("")}, program).decision, Action::kAsk);
  EXPECT_EQ(assess({policy_of("[languages]\nallow = ['cobol']\n")}, program).decision,
            Action::kAllow);
  EXPECT_EQ(assess({policy_of("[languages]\notherwise = 'refuse'\n")}, program).decision,
            Action::kRefuse);
}

TEST(AssessmentTest, JsonOfAnyBytesIsOneLine) {
  Fact fact = call("os.system");
  fact.kind = FactKind::kHost;
  fact.name = "a\nb\xff";
  const std::string json =
      to_json(assess({policy_of("[hosts]\notherwise = 'ask'\n")}, python({fact})));
  EXPECT_EQ(json.find('\n'), std::string::npos);
  EXPECT_NE(json.find(R"("decision":"ask")"), std::string::npos);
}

}  // namespace
}  // namespace glovebox::policy
