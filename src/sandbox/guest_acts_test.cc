// SPDX-License-Identifier: Apache-2.0
#include "sandbox/guest_acts.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

class GuestLedgerTest : public ::testing::Test {
 protected:
  GuestLedgerTest() {
    ledger_.tell([this](const GuestAct& act) { told_.push_back(act); });
  }

  GuestLedger ledger_;
  std::vector<GuestAct> told_;
  GuestLedger::Clock::time_point now_ = GuestLedger::Clock::now();
};

TEST_F(GuestLedgerTest, TellsOfEachRefusedCallOnceAndThenHowManyMoreThereWere) {
  EXPECT_TRUE(ledger_.count_refusal("mount"));
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_FALSE(ledger_.count_refusal("mount"));
  }
  EXPECT_TRUE(ledger_.count_refusal("bpf"));
  ledger_.close();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].name, "mount");
  EXPECT_EQ(told_[0].more, 1'000'000U);
}

TEST_F(GuestLedgerTest, NamesSixtyFourProgramsAtOnceAndOneASecondAndCountsTheRest) {
  for (int i = 0; i < 64; ++i) {
    ASSERT_TRUE(ledger_.count_program(now_)) << i;
  }
  EXPECT_FALSE(ledger_.count_program(now_));
  EXPECT_TRUE(ledger_.count_program(now_ + std::chrono::seconds(1)));
  EXPECT_FALSE(ledger_.count_program(now_ + std::chrono::seconds(1)));
  ledger_.close();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].kind, GuestAct::Kind::kProgram);
  EXPECT_EQ(told_[0].more, 2U);
}

TEST_F(GuestLedgerTest, TellsWhatWasBeforeAnybodyListenedAndNothingAfterItsEnd) {
  GuestLedger unheard;
  EXPECT_TRUE(unheard.count_refusal("mount"));
  unheard.tell_act({.name = "mount"});
  unheard.tell([this](const GuestAct& act) { told_.push_back(act); });
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].name, "mount");
  unheard.close();
  unheard.tell_act({.name = "bpf"});
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(GuestLedgerTest, KeepsABoundedNumberWhileNobodyListens) {
  GuestLedger unheard;
  std::size_t kept = 0;
  for (int second = 0; second < 1'000; ++second) {
    if (unheard.count_program(now_ + std::chrono::seconds(second))) {
      unheard.tell_act({.kind = GuestAct::Kind::kProgram});
      ++kept;
    }
  }
  EXPECT_EQ(kept, 128U);
}

}  // namespace
}  // namespace glovebox
