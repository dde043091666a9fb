// SPDX-License-Identifier: Apache-2.0
// A program that is killed while it writes the journal.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>

#include "audit/journal_directory.h"

namespace glovebox::audit {
namespace {

constexpr int kKills = 200;

class ProcessLossTest : public JournalDirectory {
 protected:
  // Records as fast as it can, and tells the number of each that wait() has acknowledged.
  [[noreturn]] void write_forever(int tell) {
    auto journal = Journal::open(path_, {.segment_size = 32 << 10,
                                         .checkpoint_records = 16,
                                         .checkpoint_time = std::chrono::milliseconds(5)});
    if (!journal) {
      (void)!::write(STDERR_FILENO, journal.error().message().data(),
                     journal.error().message().size());
      ::_exit(1);
    }
    for (int i = 0;; ++i) {
      const auto number = (*journal)->append(entry(i));
      if (!number || (i % 8 == 0 && !(*journal)->wait(*number)) ||
          (i % 8 == 0 && ::write(tell, &*number, sizeof *number) != sizeof *number)) {
        ::_exit(1);
      }
    }
  }
};

TEST_F(ProcessLossTest, ItVerifiesAfterTwoHundredKillsAndHasAllThatWasAcknowledged) {
  std::minstd_rand random(std::random_device{}());
  std::uint64_t acknowledged = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd told(ends[0]);
    UniqueFd tell(ends[1]);
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      write_forever(tell.get());
    }
    tell.reset();
    // At the first acknowledgment, at one of the next, or while it still opens.
    const std::uint64_t wanted = random() % 4;
    std::uint64_t number = 0;
    for (std::uint64_t i = 0; i<wanted&& ::read(told.get(), &number, sizeof number)> 0; ++i) {
      acknowledged = number;
    }
    for (std::uint64_t spin = random() % 20'000; spin > 0; --spin) {
      asm volatile("");
    }
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << "round " << kill << ": it ended by itself";
    while (::read(told.get(), &number, sizeof number) == sizeof number) {
      acknowledged = number;
    }
    if (acknowledged > 0) {
      const Report report = check();
      ASSERT_TRUE(report.problems.empty()) << "round " << kill << "\n" << text_of(report);
      ASSERT_GE(report.last, acknowledged);
    }
  }
  write(1);
  EXPECT_TRUE(check().problems.empty()) << text_of(check());
}

}  // namespace
}  // namespace glovebox::audit
