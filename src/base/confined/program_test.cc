// SPDX-License-Identifier: Apache-2.0
#include "base/confined/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace glovebox::confined {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

// The shell of the machine, by a name from wherever our programs are.
Job shell(const std::string& script) {
  return {.program = "../../../../../../../../../../../../../../../../bin/sh",
          .arguments = {"-c", script},
          .attempt = "read it",
          .breach = "it is damaged",
          .time = 60s,
          .most_written = 1 << 20};
}

TEST(RunConfinedTest, TextGoesInAndOutputComesBack) {
  const std::string text(300'000, 'x');
  std::string back;
  Job job = shell("cat");
  job.text = text;
  job.output = [&back](std::string_view piece) -> Result<void> {
    back += piece;
    return {};
  };
  ASSERT_TRUE(run_confined(job));
  EXPECT_EQ(back, text);
}

TEST(WaitingProgramTest, OneThatWasStartedAheadTakesItsTextAndIsBoundedAlike) {
  const Job started = shell("cat");
  std::string back;
  Job job = shell("");
  job.text = "later";
  job.output = [&back](std::string_view piece) -> Result<void> {
    back += piece;
    return {};
  };
  auto waiting = WaitingProgram::start(started.program, started.arguments);
  ASSERT_TRUE(waiting);
  EXPECT_TRUE(waiting->run(job));
  EXPECT_EQ(back, "later");

  auto endless = WaitingProgram::start(started.program, {"-c", "sleep 60"});
  ASSERT_TRUE(endless);
  job.wanted = [] { return false; };
  EXPECT_FALSE(endless->run(job));
}

TEST(RunConfinedTest, OneThatHasSaidWhatIsWantedIsNotWaitedFor) {
  std::string said;
  Job job = shell("printf 'all\\n'; exec sleep 600");
  job.output = [&said](std::string_view piece) -> Result<void> {
    said += piece;
    return {};
  };
  job.finished = [&said] { return said.ends_with('\n'); };
  EXPECT_TRUE(run_confined(job));  // Its time would be over sooner than the sleep.
  EXPECT_EQ(said, "all\n");
}

TEST(RunConfinedTest, ItHasNoEnvironmentAndNoDescriptorOfOurs) {
  ASSERT_EQ(::setenv("GB_SECRET", "x", 1), 0);
  EXPECT_TRUE(run_confined(shell("test -z \"$GB_SECRET\" && test ! -e /proc/self/fd/3")));
}

TEST(RunConfinedTest, WhatItSaysIsTheErrorWithItsCodeAndHint) {
  const auto done = run_confined(shell("printf 'too large\\nuse less' >&2; exit 4"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kExhausted);
  EXPECT_EQ(done.error().message(), "too large");
  EXPECT_EQ(done.error().hint(), "use less");
}

TEST(RunConfinedTest, WhatItSaysIsBoundedAndPrintable) {
  const auto done = run_confined(
      shell("printf '\\033[2J' >&2; head -c 1000000 /dev/zero | tr '\\0' a >&2; exit 1"));
  ASSERT_FALSE(done);
  EXPECT_LT(done.error().message().size(), 5'000U);
  EXPECT_EQ(done.error().message().find('\033'), std::string::npos);
}

TEST(RunConfinedTest, ACrashIsAnErrorThatSaysWhatIsWrongWithTheInput) {
  for (const char* const script : {"kill -SEGV $$", "kill -SYS $$", "kill -KILL $$", "exit 77"}) {
    const auto done = run_confined(shell(script));
    ASSERT_FALSE(done) << script;
    EXPECT_EQ(done.error().code(), ErrorCode::kInvalid) << script;
    EXPECT_EQ(done.error().message(), "read it: it is damaged");
  }
}

TEST(RunConfinedTest, MoreOutputThanAllowedEndsIt) {
  const auto done = run_confined(shell("cat /dev/zero"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kExhausted);
}

TEST(RunConfinedTest, ItEndsAtItsTimeAndWhenNobodyWantsIt) {
  Job late = shell("exec sleep 1000");
  late.time = 0s;
  const auto timed_out = run_confined(late);
  ASSERT_FALSE(timed_out);
  EXPECT_EQ(timed_out.error().code(), ErrorCode::kExhausted);
  Job unwanted = shell("exec sleep 1000");
  unwanted.wanted = [] { return false; };
  const auto canceled = run_confined(unwanted);
  ASSERT_FALSE(canceled);
  EXPECT_EQ(canceled.error().code(), ErrorCode::kUnavailable);
}

TEST(RunConfinedTest, AProgramThatIsNotInstalledIsNamed) {
  const auto done = run_confined({.program = "glovebox-nothing", .time = 1s});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(done.error().message(), HasSubstr("glovebox-nothing"));
}

}  // namespace
}  // namespace glovebox::confined
