// SPDX-License-Identifier: Apache-2.0
#include "spec/json/exec_rules_json.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(ExecRulesJsonTest, RulesComeBackAsTheyWere) {
  const ExecRules rules{.lists = {{.refuse = {"nc"}, .allow = {"python3*"}, .others = false}},
                        .written = false};
  EXPECT_EQ(read_stored_exec_rules(to_json(rules)), rules);
  EXPECT_EQ(read_stored_exec_rules(to_json(ExecRules{})), ExecRules{});
}

TEST(ExecRulesJsonTest, WhatCannotBeReadLetsNothingStart) {
  for (const char* const text :
       {"x", "[]", "{}", R"({"written":true})", R"({"written":true,"lists":[1]})",
        R"({"written":true,"lists":[{"refuse":[""],"allow":[],"others":true}]})"}) {
    const ExecRules rules = read_stored_exec_rules(text);
    const std::vector<std::string> names = {"true"};
    EXPECT_FALSE(rules.lets_start(names)) << text;
    EXPECT_FALSE(rules.written) << text;
  }
}

}  // namespace
}  // namespace glovebox
