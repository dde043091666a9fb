// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run_outcome.h"

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::ElementsAre;

TEST(RunOutcomeTest, SaysAnEndAsAShellDoes) {
  RunOutcome exited;
  exited.set_end(3 << 8);
  EXPECT_EQ(exited.exit_code, 3);
  EXPECT_FALSE(exited.signal);

  RunOutcome killed;
  killed.set_end(SIGKILL);
  EXPECT_EQ(killed.exit_code, 137);
  EXPECT_EQ(killed.signal, SIGKILL);
}

TEST(RunOutcomeTest, NamesALimitOnce) {
  RunOutcome outcome;
  outcome.hit("output");
  outcome.time_out("cpu_time");
  outcome.hit("output");
  EXPECT_EQ(outcome.status, Status::kTimeout);
  EXPECT_EQ(outcome.limit, "cpu_time");
  EXPECT_THAT(outcome.hits, ElementsAre("output", "cpu_time"));
}

TEST(RunOutcomeTest, MarksTheLimitsOfAVerdictAndKeepsItsNotes) {
  Verdict verdict;
  verdict.notes = {"first"};
  verdict.limits = {{.name = "memory", .hit = true}, {.name = "pids"}};
  RunOutcome outcome;
  outcome.status = Status::kPidsLimit;
  outcome.hit("pids");
  outcome.notes = {"second"};

  conclude(verdict, outcome);

  EXPECT_EQ(verdict.status, Status::kPidsLimit);
  EXPECT_THAT(verdict.notes, ElementsAre("first", "second"));
  EXPECT_FALSE(verdict.limits[0].hit);
  EXPECT_TRUE(verdict.limits[1].hit);
}

}  // namespace
}  // namespace glovebox
