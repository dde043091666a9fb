// SPDX-License-Identifier: Apache-2.0
#include "spec/exec_rules.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

using Names = std::vector<std::string>;

bool lets(const ExecRules& rules, const Names& names) { return rules.lets_start(names); }

TEST(ExecRulesTest, WithoutListsEveryProgramStarts) {
  EXPECT_TRUE(ExecRules{}.empty());
  EXPECT_TRUE(lets({}, {"rm"}));
}

TEST(ExecRulesTest, ARefusedNameIsRefusedUnderAllOfItsNames) {
  const ExecRules rules{.lists = {{.refuse = {"nc"}, .allow = {"nc.openbsd"}}}};
  EXPECT_FALSE(lets(rules, {"nc.openbsd", "nc"}));
  EXPECT_TRUE(lets(rules, {"netstat"}));
}

TEST(ExecRulesTest, AListThatNamesAllRefusesTheRest) {
  const ExecRules rules{.lists = {{.allow = {"python3*"}, .others = false}}};
  EXPECT_TRUE(rules.names_all());
  EXPECT_TRUE(lets(rules, {"python3.11", "python3"}));
  EXPECT_FALSE(lets(rules, {"perl"}));
}

TEST(ExecRulesTest, EveryListHasToLetAProgramStart) {
  const ExecRules rules{
      .lists = {{.allow = {"ls"}, .others = false}, {.refuse = {"ls"}, .allow = {}}}};
  EXPECT_FALSE(lets(rules, {"ls"}));
}

TEST(ExecRulesTest, AFileOfManyCommandsIsRefusedWhereAnyCommandIs) {
  EXPECT_FALSE(lets({.lists = {{.refuse = {"rm"}}}}, {"busybox"}));
  EXPECT_TRUE(lets({.lists = {{.refuse = {"rm"}, .allow = {"busybox"}}}}, {"busybox"}));
}

TEST(ExecRulesTest, APermittedProgramPassesAListButNotARefusal) {
  ExecRules rules{.lists = {{.others = false}, {.refuse = {"perl"}}}};
  rules.permit("/usr/bin/python3");
  rules.permit("perl");
  EXPECT_TRUE(lets(rules, {"python3"}));
  EXPECT_FALSE(lets(rules, {"perl"}));
}

TEST(ExecRulesTest, MoreThanAPolicyFileCanHoldIsInvalid) {
  EXPECT_TRUE(validate({.lists = {{.refuse = Names(1'000, "x")}}}));
  EXPECT_FALSE(validate({.lists = {{.refuse = Names(2'000, "x")}}}));
  EXPECT_FALSE(validate({.lists = {{.refuse = {std::string(300, 'x')}}}}));
  EXPECT_FALSE(validate({.lists = {{.refuse = {""}}}}));
}

}  // namespace
}  // namespace glovebox
