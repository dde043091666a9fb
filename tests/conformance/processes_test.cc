// SPDX-License-Identifier: Apache-2.0
// Starting programs, how they end, and what is left of them.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "base/frame.h"
#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class Processes : public Conformance {};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST_P(Processes, ReportEveryExitCodeExactly) {
  for (const int code : {0, 1, 2, 63, 126, 127, 128, 137, 255}) {
    const RunOutcome outcome = sh("exit " + std::to_string(code));
    EXPECT_EQ(outcome.exit_code, code);
    EXPECT_EQ(outcome.status, code == 0 ? Status::kOk : Status::kError) << code;
    EXPECT_FALSE(outcome.signal) << code;
  }
}

TEST_P(Processes, ReportTheSignalThatEndedThem) {
  for (const int signal : {SIGHUP, SIGKILL, SIGSEGV, SIGTERM, SIGABRT, SIGPIPE}) {
    const RunOutcome outcome = sh("kill -" + std::to_string(signal) + " $$");
    EXPECT_EQ(outcome.status, Status::kSignaled) << signal;
    EXPECT_EQ(outcome.signal, signal);
    EXPECT_EQ(outcome.exit_code, 128 + signal);
  }
}

TEST_P(Processes, AnswerForAMissingProgramAsAShellDoes) {
  for (const char* const program : {"/no/such/program", "no-such-program", "./none"}) {
    const RunOutcome outcome = run({program});
    EXPECT_EQ(outcome.exit_code, 127) << program;
    EXPECT_EQ(outcome.status, Status::kError);
    EXPECT_THAT(outcome.err.bytes, HasSubstr(program));
  }
}

TEST_P(Processes, AnswerForWhatCannotBeExecutedAsAShellDoes) {
  ASSERT_TRUE(sandbox().write_file("plain", "text\n", 0644));
  ASSERT_TRUE(sandbox().write_file("nonsense", std::string("\x01\x02\x03", 3), 0755));
  for (const char* const program : {"./plain", "./nonsense", "/workspace"}) {
    const RunOutcome outcome = run({program});
    EXPECT_EQ(outcome.exit_code, 126) << program;
    EXPECT_EQ(outcome.status, Status::kError);
  }
}

TEST_P(Processes, GetArgumentsWithAnyBytes) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) {
    all.push_back(static_cast<char>(byte));
  }
  const std::vector<std::string> arguments = {all, "", " ", "-n", "\n", "$(id)", "\xff\xfe", "*"};
  std::vector<std::string> argv = {"/bin/sh", "-c", "printf '%s\\0' \"$@\"", "sh"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::string expected;
  for (const std::string& argument : arguments) {
    expected += argument + '\0';
  }
  EXPECT_EQ(run(argv).out.bytes, expected);
}

TEST_P(Processes, AreRefusedWithMoreArgumentsThanARequestHolds) {
  const auto outcome = sandbox().run(
      {.argv = {"/bin/true", std::string(kMaxFramePayload, 'x')}, .env = {}, .cwd = {}}, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kInvalid);
  EXPECT_NE(outcome.error().hint(), "");
  EXPECT_EQ(sh("exit 5").exit_code, 5) << "the sandbox is of no use afterwards";
}

TEST_P(Processes, SeeAnEnvironmentThatIsOnlyOurs) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this test has one thread.
  ::setenv("GB_SECRET_OF_THE_HOST", "1", 1);
  const auto outcome =
      sandbox().run({.argv = {"env"}, .env = {{"MINE", "a=b\nc"}, {"LANG", "C"}}, .cwd = {}}, {});
  ASSERT_TRUE(outcome);
  std::vector<std::string> names;
  for (const std::string& line : lines_of(outcome->out.bytes)) {
    names.push_back(line.substr(0, line.find('=')));
  }
  EXPECT_THAT(names, UnorderedElementsAre(
                         "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_CACHE_HOME",
                         "LANG", "npm_config_fetch_retries", "PIP_RETRIES", "PIP_NO_INDEX",
                         "PIP_DISABLE_PIP_VERSION_CHECK", "PIP_BREAK_SYSTEM_PACKAGES",
                         "OMP_NUM_THREADS", "GOMAXPROCS", "GB_CONFORMANCE", "MINE", "c"));
  EXPECT_THAT(outcome->out.bytes, HasSubstr("MINE=a=b\nc\n"));
  EXPECT_THAT(outcome->out.bytes, HasSubstr("LANG=C\n"));
}

TEST_P(Processes, StartInTheirHomeOrWhereTheyAreTold) {
  EXPECT_EQ(output_of("[ \"$(pwd -P)\" = \"$(cd; pwd -P)\" ] && echo home"), "home\n");
  output_of("mkdir -p a/b");
  for (const char* const cwd : {"a/b", "/workspace/a/b"}) {
    const auto outcome = sandbox().run({.argv = {"pwd"}, .env = {}, .cwd = cwd}, {});
    ASSERT_TRUE(outcome);
    EXPECT_THAT(outcome->out.bytes, testing::EndsWith("/workspace/a/b\n")) << cwd;
  }
  const auto outcome = sandbox().run({.argv = {"pwd"}, .env = {}, .cwd = "none"}, {});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, Status::kError);
}

TEST_P(Processes, InTheBackgroundEndWithTheRun) {
  EXPECT_EQ(output_of("sleep 1000 >/dev/null 2>&1 & echo started"), "started\n");
  EXPECT_TRUE(eventually([&] { return living_guests() == 0; })) << "more than the warden lives";
}

TEST_P(Processes, InTheBackgroundLiveOnWhereThatIsAsked) {
  const RunOutcome started =
      sh("(trap '' HUP; while [ ! -e go ]; do sleep 0.01; done; echo went >done) "
         "</dev/null >/dev/null 2>&1 & exit 0",
         {.limits = {}, .kill_rest = false});
  EXPECT_EQ(started.status, Status::kOk);
  EXPECT_GT(living_guests(), 0U);
  EXPECT_EQ(sh("touch go; while [ ! -s done ]; do sleep 0.01; done; cat done",
               {.limits = {.wall = 20s}, .kill_rest = false})
                .out.bytes,
            "went\n");
}

TEST_P(Processes, ThatForkedTwiceEndWithTheRun) {
  EXPECT_EQ(sh("setsid sh -c 'setsid sh -c \"trap \\\"\\\" HUP TERM INT; echo up >daemon; "
               "while :; do sleep 1; done\" >/dev/null 2>&1 &' & "
               "while [ ! -s daemon ]; do sleep 0.01; done")
                .status,
            Status::kOk);
  EXPECT_TRUE(eventually([&] { return living_guests() == 0; })) << "the daemon lives";
}

TEST_P(Processes, AreReapedWhoeverTheirParentWas) {
  EXPECT_EQ(sh("for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 0.01 & sleep 0.02 &) ; done",
               {.limits = {.wall = 60s}, .kill_rest = false})
                .status,
            Status::kOk);
  EXPECT_TRUE(eventually([&] { return living_guests() == 0; })) << "zombies are left";
}

TEST_P(Processes, RunTwoHundredTimesInOneSandbox) {
  for (int i = 0; i < 200; ++i) {
    const RunOutcome outcome = sh("echo " + std::to_string(i) + "; exit " + std::to_string(i));
    ASSERT_EQ(outcome.out.bytes, std::to_string(i) + "\n");
    ASSERT_EQ(outcome.exit_code, i);
  }
}

TEST_P(Processes, ThatKillAllTheyCanLeaveARightVerdictAndAUsableSandbox) {
  const RunOutcome outcome = sh("echo before; kill -9 -1; echo after; exit 3");
  // Linux spares the caller of kill(-1); a tier may let it hit that one as well.
  if (outcome.status == Status::kSignaled) {
    EXPECT_EQ(outcome.signal, SIGKILL);
    EXPECT_EQ(outcome.out.bytes, "before\n");
  } else {
    EXPECT_EQ(outcome.status, Status::kError);
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.out.bytes, "before\nafter\n");
  }
  EXPECT_TRUE(sandbox().alive());
  EXPECT_EQ(output_of("echo again"), "again\n");
}

TEST_P(Processes, CannotEndOrStopWhatWatchesThem) {
  for (const char* const signal : {"KILL", "STOP", "TERM", "HUP", "SEGV"}) {
    const RunOutcome outcome =
        sh(std::string("kill -") + signal + " $PPID; kill -" + signal + " 1; echo on; exit 4");
    EXPECT_EQ(outcome.out.bytes, "on\n") << signal;
    EXPECT_EQ(outcome.exit_code, 4) << signal;
  }
  EXPECT_TRUE(sandbox().alive());
}

TEST_P(Processes, ThatStopThemselvesAndIgnoreEverySignalAreEnded) {
  const RunOutcome outcome =
      sh("trap '' HUP INT QUIT TERM USR1 USR2 ALRM XCPU; "
         "(trap '' HUP INT QUIT TERM; while :; do sleep 1; done) & kill -STOP $$; exit 9",
         {.limits = {.wall = 300ms}});
  EXPECT_EQ(outcome.status, Status::kTimeout);
  EXPECT_EQ(outcome.limit, "time");
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_TRUE(eventually([&] { return living_guests() == 0; }));
}

TEST_P(Processes, CannotBeNothing) {
  const auto outcome = sandbox().run({.argv = {}, .env = {}, .cwd = {}}, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kInvalid);
}

TEST_P(Processes, ThatStopAllOthersDoNotHoldUpTheWardenForEver) {
  // Whatever the warden starts is stopped at once, also between its birth and its exec.
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::array<int, 3> nothing = {null.get(), null.get(), null.get()};
  const Command stopper{.argv = {"/bin/sh", "-c", "while :; do kill -s STOP -- -1; done"},
                        .env = {},
                        .cwd = {}};
  const Command stopped{.argv = {"/bin/true"}, .env = {}, .cwd = {}};
  ASSERT_TRUE(sandbox().start_detached(stopper, {}, nothing));
  for (int i = 0; i < 100 && sandbox().start_detached(stopped, {}, nothing); ++i) {
  }
  const auto served = sandbox().write_file("still", "here", 0644);
  EXPECT_TRUE(served);
}

GB_FOR_EVERY_TIER(Processes);

}  // namespace
}  // namespace glovebox::conformance
