// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/call_budget.h"

#include <vector>

#include <gtest/gtest.h>

namespace glovebox::keeper {
namespace {

constexpr CallBudget::Bounds kSmall{
    .all = 6, .of_tenant = 4, .of_sandbox = 2, .reserve = 3, .reserve_of_tenant = 2};

// As many as may be.
std::vector<CallBudget::Place> fill(CallBudget& budget,
                                    std::string_view tenant,
                                    std::string_view sandbox) {
  std::vector<CallBudget::Place> places;
  for (;;) {
    auto place = budget.enter(tenant, sandbox);
    if (!place) {
      return places;
    }
    places.push_back(std::move(place).value());
  }
}

TEST(CallBudgetTest, ASandboxIsRefusedAtItsShareAndOthersOfItsTenantAreNot) {
  CallBudget budget(kSmall);
  const auto places = fill(budget, "a", "one");
  EXPECT_EQ(places.size(), 2U);
  const auto refused = budget.enter("a", "one");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kExhausted);
  EXPECT_FALSE(refused.error().hint().empty());
  EXPECT_TRUE(budget.enter("a", "two"));
}

TEST(CallBudgetTest, ATenantIsRefusedAtItsShareAndAnotherIsNot) {
  CallBudget budget(kSmall);
  const auto one = fill(budget, "a", "one");
  const auto two = fill(budget, "a", "two");
  EXPECT_FALSE(budget.enter("a", "three"));
  EXPECT_TRUE(budget.enter("b", "four"));
}

TEST(CallBudgetTest, WhatEndsThingsHasRoomWhenNothingElseHas) {
  CallBudget budget(kSmall);
  std::vector<std::vector<CallBudget::Place>> all;
  for (const char* const sandbox : {"1", "2", "3"}) {
    all.push_back(fill(budget, sandbox, sandbox));
  }
  EXPECT_FALSE(budget.enter("9", "9"));
  const auto first = budget.enter_reserve("1");
  const auto second = budget.enter_reserve("1");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(budget.enter_reserve("1")) << "one tenant took the reserve of all";
  EXPECT_TRUE(budget.enter_reserve("2"));
}

TEST(CallBudgetTest, APlaceIsFreeAgainWhenItsCallHasEnded) {
  CallBudget budget(kSmall);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(fill(budget, "a", "one").size(), 2U);
    EXPECT_TRUE(budget.enter_reserve("a"));
  }
}

}  // namespace
}  // namespace glovebox::keeper
