// SPDX-License-Identifier: Apache-2.0
// Terminals that a guest makes for itself: where the file system is the sandbox's own, so are they.
#include "fixture.h"

namespace glovebox::conformance {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// bash opens descriptors above 9.
constexpr const char* kOpenAll =
    "bash -c 'n=0; while exec {fd}<>/dev/ptmx; do n=$((n + 1)); done; echo $n'";

class TerminalsInside : public Conformance {
 protected:
  // Whether the tier has any; if not, that the host's are out of reach.
  bool exist() {
    if (!features().own_root) {
      EXPECT_NE(sh("exec 3<>/dev/ptmx").exit_code, 0);
    }
    return features().own_root;
  }

  // Another sandbox, in which a process keeps a terminal.
  std::unique_ptr<Sandbox> with_terminal() {
    auto other = make();
    const auto started =
        other->run({.argv = {"/bin/sh", "-c",
                             "exec 3<>/dev/ptmx; sleep 1000 >/dev/null 2>&1 & test -c /dev/pts/0"},
                    .env = {},
                    .cwd = {}},
                   {.limits = {}, .kill_rest = false});
    EXPECT_TRUE(started && started->exit_code == 0);
    return other;
  }
};

TEST_P(TerminalsInside, HaveNamesAndControlTheirSessions) {
  if (is_gvisor()) {
    GTEST_SKIP() << "gVisor's /proc names no terminal of a process";
  }
  if (exist()) {
    EXPECT_EQ(output_of("script -qec 'tty; cut -d\" \" -f7 /proc/self/stat' /dev/null </dev/null"),
              "/dev/pts/0\r\n34816\r\n");
  }
}

TEST_P(TerminalsInside, AreSixtyFourInASandboxWhateverOthersHave) {
  if (is_gvisor()) {
    GTEST_SKIP() << "terminals are memory of gVisor's there, which is limited, and no host's";
  }
  if (!exist()) {
    return;
  }
  const auto other = with_terminal();
  for (int round = 0; round < 2; ++round) {
    const RunOutcome outcome = sh(kOpenAll);
    EXPECT_EQ(outcome.out.bytes, "64\n");
    EXPECT_THAT(outcome.err.bytes, HasSubstr("No space left on device"));
  }
}

TEST_P(TerminalsInside, AreSeenInNoOtherSandbox) {
  if (exist()) {
    const auto other = with_terminal();
    EXPECT_EQ(output_of("ls /dev/pts"), "ptmx\n");
  }
}

TEST_P(TerminalsInside, AreMountedWithoutProgramsAndSetuid) {
  if (is_gvisor()) {
    GTEST_SKIP() << "gVisor mounts them itself, and shows no such options";
  }
  if (exist()) {
    EXPECT_THAT(output_of("grep ' /dev/pts ' /proc/mounts"),
                StartsWith("devpts /dev/pts devpts rw,nosuid,noexec,"));
  }
}

TEST_P(TerminalsInside, EndWithTheRun) {
  if (exist()) {
    output_of(
        "script -qec 'trap \"\" HUP TERM; sleep 1000' /dev/null </dev/null >/dev/null 2>&1 & "
        "while ! test -c /dev/pts/0; do :; done");
    EXPECT_TRUE(eventually([this] { return living_guests() == 0; }));
    EXPECT_TRUE(eventually([this] { return output_of("ls /dev/pts") == "ptmx\n"; }));
  }
}

GB_FOR_EVERY_TIER(TerminalsInside);

}  // namespace
}  // namespace glovebox::conformance
