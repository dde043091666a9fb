// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/call_assessment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace glovebox::policy {
namespace {

using testing::HasSubstr;

Policy tools_policy(const std::string& rules, const std::string& name = "p") {
  auto policy = parse_policy("[tools]\n" + rules, name);
  EXPECT_TRUE(policy) << policy.error().message();
  return policy ? *std::move(policy) : Policy();
}

Action decide(const std::string& rules, std::string_view name, std::string_view arguments = "{}") {
  return assess_call({tools_policy(rules)}, name, arguments).decision;
}

TEST(CallAssessmentTest, APolicyWithoutRulesForToolsSaysNothingOfCalls) {
  const auto policy = parse_policy("[commands]\nrefuse = ['rm']\n", "p");
  ASSERT_TRUE(policy);
  EXPECT_EQ(assess_call({*policy}, "search", "no JSON").decision, Action::kAllow);
  EXPECT_FALSE(tools_policy("refuse = ['*']").examines());
}

TEST(CallAssessmentTest, TheMostSpecificNameDecidesAndThenTheStrictest) {
  const std::string rules =
      "allow = ['mcp.github.get_*', 'same']\nask = ['mcp.github.*', 'same']\n"
      "refuse = ['mcp.github.delete_*']\notherwise = 'refuse'\n";
  EXPECT_EQ(decide(rules, "mcp.github.get_issue"), Action::kAllow);
  EXPECT_EQ(decide(rules, "mcp.github.create_issue"), Action::kAsk);
  EXPECT_EQ(decide(rules, "mcp.github.delete_repo"), Action::kRefuse);
  EXPECT_EQ(decide(rules, "same"), Action::kAsk);
  EXPECT_EQ(decide(rules, "mcp.githubs"), Action::kRefuse);
}

TEST(CallAssessmentTest, ARuleWithConditionsComesBeforeOneWithout) {
  const std::string rules =
      "allow = ['pay amount<=100']\nask = ['pay']\nrefuse = ['pay to=mallory']";
  EXPECT_EQ(decide(rules, "pay", R"({"amount": 100, "to": "bob"})"), Action::kAllow);
  EXPECT_EQ(decide(rules, "pay", R"({"amount": 100.5, "to": "bob"})"), Action::kAsk);
  EXPECT_EQ(decide(rules, "pay", R"({"amount": 1, "to": "mallory"})"), Action::kRefuse);
  EXPECT_EQ(decide(rules, "pay"), Action::kAsk);
}

TEST(CallAssessmentTest, AConditionComparesTextsAndNumbersOfAnyDepth) {
  const std::string rules =
      "refuse = ['f url=http://*', 'f level=5', 'f o.deep.flag=true', 'f n>3', 'f m>=3', 'f k<0']";
  for (const char* const arguments :
       {R"({"url": "http://x"})", R"({"level": 5})", R"({"level": 5.0})", R"({"level": "5"})",
        R"({"o": {"deep": {"flag": true}}})", R"({"n": 4})", R"({"n": "4"})", R"({"m": 3})",
        R"({"k": -1e300})", R"({"\u0075rl": "http://x"})"}) {
    EXPECT_EQ(decide(rules, "f", arguments), Action::kRefuse) << arguments;
  }
  for (const char* const arguments :
       {R"({"url": "https://x"})", R"({"url": null})", R"({"level": 50})",
        R"({"o": {"flag": true}})", R"({"o": 1})", R"({"n": 3})", R"({"m": 2.9})"}) {
    EXPECT_EQ(decide(rules, "f", arguments), Action::kAllow) << arguments;
  }
}

TEST(CallAssessmentTest, WhatCannotBeJudgedIsNeverAllowedAndAlwaysStopped) {
  const std::string rules = "allow = ['f to=*@a.example', 'g n<5']\notherwise = 'ask'";
  EXPECT_EQ(decide(rules, "f", R"({"to": ["x@a.example", "y@a.example"]})"), Action::kAllow);
  for (const char* const arguments :
       {R"({"to": ["x@a.example", "y@b.example"]})", R"({"to": []})", R"({"to": {"a": 1}})",
        R"({"to": [["x@b.example"]]})", R"({})"}) {
    EXPECT_EQ(decide(rules, "f", arguments), Action::kAsk) << arguments;
  }
  EXPECT_EQ(decide(rules, "g", R"({"n": "four"})"), Action::kAsk);
  EXPECT_EQ(decide(rules, "g", R"({"n": true})"), Action::kAsk);
  const std::string refusing = "refuse = ['f url=http:*', 'f n>5', 'f o.p=1']";
  for (const char* const arguments :
       {R"({"url": ["https://x", "http://y"]})", R"({"url": {"href": "http://y"}})",
        R"({"n": "many"})", R"({"n": [1, 9]})", R"({"o": [{"p": 1}]})"}) {
    EXPECT_EQ(decide(refusing, "f", arguments), Action::kRefuse) << arguments;
  }
}

TEST(CallAssessmentTest, ArgumentsThatReadersUnderstandDifferentlyAreRefused) {
  for (const char* const arguments : {"", "[]", "1", "{", R"({"a": 1, "a": 2})",
                                      R"({"a": 1, "\u0061": 2})", R"({"o": [{"b": 1, "b": 1}]})"}) {
    EXPECT_EQ(decide("allow = ['*']", "f", arguments), Action::kRefuse) << arguments;
  }
  EXPECT_EQ(decide("allow = ['*']", "f", R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"),
            Action::kAllow);
}

TEST(CallAssessmentTest, TheStrictestOfSeveralPoliciesDecidesAndIsNamed) {
  const Policy allows = tools_policy("allow = ['f']\notherwise = 'refuse'", "allows");
  const Policy asks = tools_policy("ask = ['f']", "asks");
  const Policy refuses = tools_policy("refuse = ['f*']", "refuses");
  EXPECT_EQ(assess_call({allows}, "f", "{}").decision, Action::kAllow);
  EXPECT_EQ(assess_call({allows, asks}, "f", "{}").decision, Action::kAsk);
  const Assessment found = assess_call({asks, allows, refuses}, "f", "{}");
  EXPECT_EQ(found.decision, Action::kRefuse);
  EXPECT_EQ(reason_of_call(found), "tool matches 'f*' of refuses");
  EXPECT_EQ(found.findings.front().subject, "f");
}

TEST(CallAssessmentTest, ARuleThatIsNoneSaysWhereAndWhy) {
  const auto fails = [](const std::string& rules, const char* why) {
    const auto policy = parse_policy("[tools]\n" + rules, "p");
    ASSERT_FALSE(policy) << rules;
    EXPECT_THAT(policy.error().message(), HasSubstr(why)) << rules;
    EXPECT_THAT(policy.error().message(), HasSubstr("p:2:"));
    EXPECT_FALSE(policy.error().hint().empty());
  };
  fails("allow = ['f g']", "'g' is not a condition");
  fails("allow = ['f =g']", "'=g' is not a condition");
  fails("allow = ['a=b']", "begins with the name of a tool");
  fails("allow = ['f a..b=c']", "names no argument");
  fails("allow = ['f a<b']", "'b' is not a number");
  fails("allow = ['f a<nan']", "'nan' is not a number");
  fails("allow = ['f a=1 a=2 a=3 a=4 a=5 a=6 a=7 a=8 a=9']", "at most 8 conditions");
  fails("note = ['f']", "unknown key 'note'");
  fails("otherwise = 'note'", "unknown value 'note'");
}

}  // namespace
}  // namespace glovebox::policy
