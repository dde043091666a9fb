// SPDX-License-Identifier: Apache-2.0
#include "base/sys/start_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "base/sys/memory_file.h"
#include "base/unique_fd.h"

namespace glovebox::sys {
namespace {

// What a shell prints that starts as `process` says; what it prints goes to descriptor 1.
std::string printed(NewProcess process, const std::string& script) {
  const UniqueFd output = memory_file().value();
  process.program = "/bin/sh";
  process.words = {"sh", "-c", script};
  process.descriptors.resize(std::max<std::size_t>(process.descriptors.size(), 3), STDERR_FILENO);
  process.descriptors[1] = output.get();
  const auto pid = start_process(process);
  EXPECT_TRUE(pid);
  EXPECT_EQ(wait_for_end(pid.value()), 0);
  std::array<char, 4096> text{};
  const ssize_t got = ::pread(output.get(), text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(got)};
}

TEST(StartProcessTest, GivesTheDescriptorsInTheirOrderAndNoOthers) {
  const UniqueFd first = memory_file("first\n").value();
  const UniqueFd second = memory_file("second\n").value();
  // One that would be inherited, and two that lie where others are to go.
  const UniqueFd kept(::fcntl(first.get(), F_DUPFD, 9));
  ASSERT_EQ(printed({.descriptors = {second.get(), -1, STDERR_FILENO, first.get()}},
                    "cat; cat <&3; for fd in 4 5 6 7 8 9; do [ -e /proc/self/fd/$fd ] && echo $fd; "
                    "done; true"),
            "second\nfirst\n");
}

TEST(StartProcessTest, GivesTheEnvironmentThatItIsTold) {
  EXPECT_EQ(printed({.environment = {{"A=one"}}}, "echo $A $HOME$PATH_OF_NOBODY"), "one\n");
  ASSERT_EQ(::setenv("START_PROCESS_TEST", "ours", 1), 0);
  EXPECT_EQ(printed({}, "echo $START_PROCESS_TEST"), "ours\n");
  EXPECT_EQ(printed({.environment = std::vector<std::string>()}, "echo $START_PROCESS_TEST"), "\n");
}

TEST(StartProcessTest, StartsItWhereItIsTold) {
  const UniqueFd directory(::open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(printed({.directory = directory.get()}, "pwd -P"), "/usr\n");
}

TEST(StartProcessTest, BlocksNoSignalAndIgnoresNoBrokenPipe) {
  sigset_t blocked;
  sigset_t before;
  (void)::sigemptyset(&blocked);
  (void)::sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto pipe_before = ::signal(SIGPIPE, SIG_IGN);
  const auto user_before = ::signal(SIGUSR1, SIG_IGN);
  // As far as they are of these three; whoever started us may have others ignored.
  const std::string script =
      "grep -E 'SigBlk|SigIgn' /proc/self/status | while read -r _ mask; do "
      "echo $((0x$mask & 0x5200)); done";
  EXPECT_EQ(printed({}, script), "0\n512\n");
  EXPECT_EQ(printed({.all_signals_default = true}, script), "0\n0\n");
  (void)::signal(SIGUSR1, user_before);
  (void)::signal(SIGPIPE, pipe_before);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

TEST(StartProcessTest, SaysThatThereIsNoSuchProgram) {
  const auto started = start_process({.program = "no-such-program", .words = {"it"}});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().os_error(), ENOENT);
  EXPECT_EQ(started.error().message(), "start it: No such file or directory");
}

}  // namespace
}  // namespace glovebox::sys
