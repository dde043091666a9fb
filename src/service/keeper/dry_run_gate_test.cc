// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/dry_run_gate.h"

#include <gtest/gtest.h>

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

TEST(DryRunGateTest, IsOpenForMany) {
  DryRunGate gate;
  const auto first = gate.enter();
  const auto second = gate.enter();
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(gate.closed());
}

TEST(DryRunGateTest, ADryRunWaitsForNobodyAndNobodyForIt) {
  DryRunGate gate;
  {
    const auto pass = gate.enter();
    const auto refused = gate.close("c1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kConflict);
  }
  ASSERT_TRUE(gate.close("c1"));
  EXPECT_EQ(gate.enter().error().code(), ErrorCode::kConflict);
  EXPECT_EQ(gate.close("c2").error().code(), ErrorCode::kConflict);
  gate.open();
  EXPECT_TRUE(gate.enter());
}

TEST(DryRunGateTest, AnUndecidedOneIsNamedInTheHint) {
  DryRunGate gate;
  const auto id = gate.close("c1");
  ASSERT_TRUE(id);
  gate.await_decision("{}", DryRunGate::Clock::now() + 1min);
  EXPECT_NE(gate.enter().error().hint().find("/dry-runs/" + *id + "/commit"), std::string::npos);
  EXPECT_EQ(gate.closed()->told, "{}");
}

TEST(DryRunGateTest, NamesAreNeverUsedAgain) {
  DryRunGate gate;
  const auto first = gate.close("c1");
  gate.open();
  const auto second = gate.close("c1");
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
}

TEST(DryRunGateTest, SaysWhyThereCanBeNone) {
  DryRunGate gate;
  gate.forbid("its guest is root");
  const auto refused = gate.close("c1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message().find("its guest is root"), std::string::npos);
}

}  // namespace
}  // namespace glovebox::keeper
