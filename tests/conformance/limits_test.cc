// SPDX-License-Identifier: Apache-2.0
// Limits: each one ends or stops what goes beyond it, and the reports say truly which ones hold.
#include <signal.h>

#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class LimitsOf : public Conformance {
 protected:
  [[nodiscard]] bool enforced(std::string_view name) {
    // Without a value, the time on processors has no report.
    return report_of(sandbox().limit_reports({.cpu_time = 1s}), name).enforced;
  }
};

// Skips where the tier says that it does not hold the limit here.
#define GB_NEEDS_LIMIT(name)                                               \
  if (!enforced(name)) {                                                   \
    GTEST_SKIP() << GetParam() << " does not limit " << (name) << " here"; \
  }

TEST_P(LimitsOf, TimeEndsTheWholeTree) {
  const RunOutcome outcome =
      sh("trap '' TERM INT HUP; (setsid sh -c 'while :; do sleep 1; done' &) ; "
         "(while :; do sleep 1; done) & echo up; while :; do sleep 1; done",
         {.limits = {.wall = 400ms}});
  EXPECT_EQ(outcome.status, Status::kTimeout);
  EXPECT_EQ(outcome.limit, "time");
  EXPECT_THAT(outcome.hits, Contains("time"));
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_EQ(outcome.exit_code, 137);
  EXPECT_EQ(outcome.out.bytes, "up\n") << "what was said before is lost";
  EXPECT_GE(outcome.usage.wall, 400ms);
  EXPECT_TRUE(eventually([&] { return living_guests() == 0; })) << "the tree lives";
}

TEST_P(LimitsOf, CpuTimeEndsABusyGuest) {
  const Limits limits{.wall = 60s, .cpu_time = 300ms};
  make_with(limits);
  const RunOutcome outcome = sh("while :; do :; done", {.limits = limits});
  EXPECT_EQ(outcome.status, Status::kTimeout);
  EXPECT_EQ(outcome.limit, "cpu_time");
  EXPECT_THAT(outcome.hits, Contains("cpu_time"));
  EXPECT_GE(outcome.usage.cpu, 250ms);
}

TEST_P(LimitsOf, CpuTimeCountsAllProcessesTogether) {
  const Limits limits{.wall = 60s, .cpu_time = 500ms};
  make_with(limits);
  GB_NEEDS_LIMIT("cpu_time");
  // No process of it takes long, all together take without end.
  const RunOutcome outcome = sh(
      "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done", {.limits = limits});
  EXPECT_EQ(outcome.status, Status::kTimeout);
  EXPECT_EQ(outcome.limit, "cpu_time");
}

TEST_P(LimitsOf, CpuTimeLeavesASleepingGuestAlone) {
  const RunOutcome outcome = sh("sleep 0.6; exit 3", {.limits = {.cpu_time = 500ms}});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.status, Status::kError);
}

TEST_P(LimitsOf, CpuTimeOfARunDoesNotCountForTheNext) {
  const std::string loop = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
  const RunOutcome first = sh(loop);
  ASSERT_EQ(first.status, Status::kOk);
  // Each takes a third of the limit, however slow the machine is; all together more than it.
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(3 * first.usage.cpu) + 200ms;
  for (int i = 0; i < 5; ++i) {
    const RunOutcome outcome = sh(loop, {.limits = {.cpu_time = limit}});
    EXPECT_EQ(outcome.status, Status::kOk) << i << ", at a limit of " << limit.count() << " ms";
  }
}

TEST_P(LimitsOf, CpuTimeIsNotHitByASignalThatTheGuestSendsItself) {
  const Limits limits{.cpu_time = 10s};
  make_with(limits);
  const RunOutcome outcome = sh("kill -XCPU $$", {.limits = limits});
  EXPECT_EQ(outcome.status, Status::kSignaled);
  EXPECT_EQ(outcome.signal, SIGXCPU);
  EXPECT_THAT(outcome.hits, Not(Contains("cpu_time")));
}

TEST_P(LimitsOf, CpuTimeOfChildrenThatNobodyWaitsForIsTold) {
  if (sandbox().walls().cgroup == "none") {
    GTEST_SKIP() << "no cgroup counts here";
  }
  const RunOutcome outcome =
      sh("trap '' CHLD; (i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done) & wait; exit 0");
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_GE(outcome.usage.cpu, 50ms);
}

TEST_P(LimitsOf, MemoryEndsAGreedyGuest) {
  GB_NEEDS_LIMIT("memory");
  const Limits limits{.memory = 64_MiB};
  make_with(limits);
  const RunOutcome outcome =
      sh("head -c 400000000 /dev/zero | tail -c 300000000 | wc -c; exit 5", {.limits = limits});
  EXPECT_EQ(outcome.status, Status::kOutOfMemory);
  EXPECT_THAT(outcome.hits, Contains("memory"));
  if (sandbox().watches_memory()) {
    return;  // It is ended a moment later.
  }
  // A kernel of its own is in the same group.
  const Bytes kernel = features().own_kernel ? 48_MiB : 0_MiB;
  EXPECT_LE(outcome.usage.memory_peak.count, (65_MiB).count + kernel.count);
}

TEST_P(LimitsOf, MemoryCountsAllProcessesTogether) {
  GB_NEEDS_LIMIT("memory");
  const Limits limits{.memory = 64_MiB};
  make_with(limits);
  const RunOutcome outcome =
      sh("for i in 1 2 3 4 5 6; do (x=$(head -c 12000000 /dev/zero | tr '\\0' x); : >up$i; "
         "sleep 20; :) & done; wait",
         {.limits = limits});
  EXPECT_EQ(outcome.status, Status::kOutOfMemory);
}

TEST_P(LimitsOf, MemoryIsThereUpToItsLimit) {
  const Limits limits{.memory = 128_MiB};
  make_with(limits);
  const RunOutcome outcome =
      sh("x=$(head -c 20000000 /dev/zero | tr '\\0' x); echo ${#x}", {.limits = limits});
  EXPECT_EQ(outcome.status, Status::kOk) << outcome.err.bytes;
  EXPECT_EQ(outcome.out.bytes, "20000000\n");
  EXPECT_THAT(outcome.hits, Not(Contains("memory")));
}

TEST_P(LimitsOf, ASandboxThatRanOutOfMemoryServesOnOrSaysThatItIsDead) {
  GB_NEEDS_LIMIT("memory");
  const Limits limits{.memory = 64_MiB};
  make_with(limits);
  (void)sh("head -c 400000000 /dev/zero | tail -c 300000000", {.limits = limits});
  if (sandbox().alive()) {
    EXPECT_EQ(sh("echo again", {.limits = limits}).out.bytes, "again\n");
  } else {
    EXPECT_FALSE(sandbox().run({.argv = {"/bin/true"}, .env = {}, .cwd = {}}, {}));
  }
}

TEST_P(LimitsOf, PidsBoundAForkBomb) {
  GB_NEEDS_LIMIT("pids");
  const Limits limits{.wall = 20s, .pids = 30};
  make_with(limits);
  const RunOutcome outcome =
      sh("i=0; while [ $i -lt 60 ]; do sleep 100 & i=$((i+1)); done; exit 0", {.limits = limits});
  EXPECT_NE(outcome.status, Status::kOk) << "sixty processes fit into thirty";
  EXPECT_THAT(outcome.err.bytes, HasSubstr("ork"));
  if (outcome.usage.pids_peak > 0) {
    EXPECT_THAT(outcome.hits, Contains("pids"));
    EXPECT_EQ(outcome.status, Status::kPidsLimit);
    EXPECT_LE(outcome.usage.pids_peak, 31U) << "with the warden";
  }
  EXPECT_TRUE(eventually([&] { return living_guests() == 0; }));
}

TEST_P(LimitsOf, PidsAreThereUpToTheirLimit) {
  const Limits limits{.pids = 30};
  make_with(limits);
  EXPECT_EQ(
      sh("i=0; while [ $i -lt 20 ]; do sleep 100 & i=$((i+1)); done", {.limits = limits}).status,
      Status::kOk);
}

TEST_P(LimitsOf, DiskEndsInAFullDisk) {
  GB_NEEDS_LIMIT("disk");
  const Limits limits{.disk = 4_MiB};
  make_with(limits);
  for (const char* const place : {"\"$HOME\"", "\"$TMPDIR\""}) {
    const std::string file = std::string(place) + "/big";
    const RunOutcome outcome =
        sh("head -c 8000000 /dev/zero >" + file + "; r=$?; wc -c <" + file + "; exit $r",
           {.limits = limits});
    EXPECT_EQ(outcome.status, Status::kDiskFull) << place;
    EXPECT_THAT(outcome.hits, Contains("disk")) << place;
    EXPECT_LE(std::stoul("0" + outcome.out.bytes), (4_MiB).count + (256_KiB).count) << place;
    EXPECT_EQ(sh("rm " + file, {.limits = limits}).status, Status::kOk) << place;
  }
  EXPECT_EQ(sh("head -c 3500000 /dev/zero >fits", {.limits = limits}).status, Status::kOk);
}

TEST_P(LimitsOf, DiskIsNotFullByASignalThatTheGuestSendsItself) {
  if (!features().limits_disk) {
    GTEST_SKIP() << GetParam() << " limits each file, by that signal";
  }
  EXPECT_EQ(sh("kill -XFSZ $$").status, Status::kSignaled);
}

TEST_P(LimitsOf, InodesEndInAFullDisk) {
  GB_NEEDS_LIMIT("inodes");
  const Limits limits{.inodes = 100};
  make_with(limits);
  const RunOutcome outcome =
      sh("i=0; while [ $i -lt 400 ]; do : >f$i || exit 1; i=$((i+1)); done", {.limits = limits});
  EXPECT_EQ(outcome.status, Status::kDiskFull);
  EXPECT_THAT(outcome.hits, Contains("inodes"));
  EXPECT_EQ(sh("ls | wc -l; [ $(ls | wc -l) -le 200 ]", {.limits = limits}).exit_code, 0);
}

TEST_P(LimitsOf, OpenFilesAreBounded) {
  const Limits limits{.open_files = 20};
  EXPECT_EQ(sh("ulimit -n; ulimit -Hn", {.limits = limits}).out.bytes, "20\n20\n");
  EXPECT_NE(sh("ulimit -n 1000", {.limits = limits}).exit_code, 0) << "the guest raised it";
  EXPECT_NE(sh("exec 19<&0; exec 20<&0", {.limits = limits}).exit_code, 0);
  EXPECT_EQ(sh("ulimit -n", {.limits = {.open_files = 40}}).out.bytes, "40\n")
      << "one run's limit holds for the next";
}

TEST_P(LimitsOf, MemoryIsTheReasonWhereARuntimeGivesUpByItself) {
  GB_NEEDS_LIMIT("memory");
  const Limits limits{.memory = 64_MiB};
  const std::string words =
      "echo 'Exception in thread main java.lang.OutOfMemoryError: Java heap space' >&2; exit 1";
  make_with(limits);
  const RunOutcome pretends = sh(words, {.limits = limits});
  EXPECT_EQ(pretends.status, Status::kError) << "the words alone are no evidence";
  EXPECT_THAT(pretends.hits, Not(Contains("memory")));
  const std::string full = "x=$(head -c 20000000 /dev/zero | tr '\\0' x); : ${#x}; ";
  const RunOutcome gave_up = sh(full + words, {.limits = limits});
  EXPECT_EQ(gave_up.status, Status::kOutOfMemory);
  EXPECT_EQ(gave_up.exit_code, 1);
  EXPECT_THAT(gave_up.hits, Contains("memory"));
  const RunOutcome other = sh(full + "echo 'no such file' >&2; exit 1", {.limits = limits});
  EXPECT_EQ(other.status, Status::kError) << "memory alone is no reason";
}

TEST_P(LimitsOf, MemoryChangesBetweenRuns) {
  GB_NEEDS_LIMIT("memory");
  const std::string script = "x=$(head -c 40000000 /dev/zero | tr '\\0' x); echo ${#x}";
  const Limits small{.memory = 32_MiB};
  const Limits large{.memory = 512_MiB};
  for (const Limits& limits : {small, large, small, large}) {
    ASSERT_TRUE(sandbox().alive());
    ASSERT_TRUE(sandbox().set_limits(limits));
    const RunOutcome outcome = sh(script, {.limits = limits});
    EXPECT_EQ(outcome.status, limits.memory == large.memory ? Status::kOk : Status::kOutOfMemory);
    if (!sandbox().alive()) {
      make_with(limits);  // A tier may end a sandbox with the guest that filled it.
    }
  }
}

TEST_P(LimitsOf, PidsChangeBetweenRuns) {
  GB_NEEDS_LIMIT("pids");
  const std::string script = "i=0; while [ $i -lt 20 ]; do sleep 100 & i=$((i+1)); done";
  for (const std::uint32_t pids : {10U, 40U, 10U}) {
    const Limits limits{.pids = pids};
    ASSERT_TRUE(sandbox().set_limits(limits));
    EXPECT_EQ(sh(script, {.limits = limits}).exit_code == 0, pids == 40U) << pids;
  }
}

TEST_P(LimitsOf, ThatCouldNeverHoldAreRefused) {
  EXPECT_FALSE(sandbox().set_limits({.memory = Bytes{0}}));
  EXPECT_FALSE(sandbox().set_limits({.pids = 0}));
  EXPECT_EQ(output_of("echo on"), "on\n");
}

TEST_P(LimitsOf, AreReportedWithTheirValues) {
  const Limits limits{.wall = 1500ms,
                      .cpu_time = 2500ms,
                      .memory = 100_MiB,
                      .pids = 33,
                      .disk = 7_MiB,
                      .inodes = 44,
                      .open_files = 55,
                      .output = 3_KiB};
  const auto reports = sandbox().limit_reports(limits);
  EXPECT_EQ(report_of(reports, "time").value, 1.5);
  EXPECT_EQ(report_of(reports, "cpu_time").value, 2.5);
  EXPECT_EQ(report_of(reports, "memory").value, static_cast<double>((100_MiB).count));
  EXPECT_EQ(report_of(reports, "pids").value, 33);
  EXPECT_EQ(report_of(reports, "disk").value, static_cast<double>((7_MiB).count));
  EXPECT_EQ(report_of(reports, "inodes").value, 44);
  EXPECT_EQ(report_of(reports, "open_files").value, 55);
  EXPECT_EQ(report_of(reports, "output").value, static_cast<double>((3_KiB).count));
  for (const LimitReport& report : reports) {
    EXPECT_FALSE(report.hit) << report.name;
  }
}

TEST_P(LimitsOf, AreReportedAsTheTierCanHoldThem) {
  EXPECT_EQ(enforced("memory"), features().limits_memory);
  EXPECT_EQ(enforced("pids"), features().limits_pids);
  EXPECT_EQ(enforced("disk"), features().limits_disk);
  EXPECT_EQ(enforced("inodes"), features().limits_inodes);
  for (const char* const always : {"time", "open_files", "output"}) {
    EXPECT_TRUE(enforced(always)) << always;
  }
}

GB_FOR_EVERY_TIER(LimitsOf);

}  // namespace
}  // namespace glovebox::conformance
