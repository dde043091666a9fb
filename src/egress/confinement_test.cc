// SPDX-License-Identifier: Apache-2.0
#include "egress/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "egress/placement.h"

namespace glovebox::egress {
namespace {

// Ends with 0 where the action returned, and with 1 where the walls did not even stand.
template <typename Action>
[[noreturn]] void behind_walls(Action action, Reach reach = Reach::kOut) {
  if (!confine(reach).has_value()) {
    ::_exit(1);
  }
  ::_exit(action());
}

int choose_processors_of(pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 &&
                 ::sched_setaffinity(process, sizeof(set), &set) == 0
             ? 0
             : 2;
}

class EgressWallsTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EgressWallsTest, LetItChooseItsOwnProcessorsOnly) {
  EXPECT_EXIT(behind_walls([] { return choose_processors_of(0); }), ::testing::ExitedWithCode(0),
              "");
  EXPECT_EXIT(behind_walls([] { return choose_processors_of(1); }),
              ::testing::KilledBySignal(SIGSYS), "");
}

TEST_F(EgressWallsTest, OpenNoFile) {
  EXPECT_EXIT(behind_walls([] { return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? 2 : 3; }),
              ::testing::KilledBySignal(SIGSYS), "");
}

TEST_F(EgressWallsTest, HaveNoSocketsButThoseOfTheInternet) {
  EXPECT_EXIT(
      behind_walls([] {
        const bool internet = ::socket(AF_INET, SOCK_STREAM, 0) >= 0;
        return internet && ::socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EAFNOSUPPORT ? 0 : 2;
      }),
      ::testing::ExitedWithCode(0), "");
}

TEST_F(EgressWallsTest, HaveNoWayOutForWhatAnswersFromARecording) {
  EXPECT_EXIT(
      behind_walls([] { return ::socket(AF_INET, SOCK_STREAM, 0) < 0 ? 2 : 3; }, Reach::kNone),
      ::testing::KilledBySignal(SIGSYS), "");
  EXPECT_EXIT(behind_walls(
                  [] {
                    const Placement placement;
                    return 0;
                  },
                  Reach::kNone),
              ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace glovebox::egress
