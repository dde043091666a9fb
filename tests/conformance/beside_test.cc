// SPDX-License-Identifier: Apache-2.0
// Processes beside runs, whose streams lead to descriptors of the caller's: whether a tier passes
// those or relays their bytes, the caller cannot tell.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// To the end of the stream.
std::string all_of(const UniqueFd& stream) {
  std::string text;
  std::array<char, 64 * 1024> bytes;
  for (ssize_t got = 0; (got = ::read(stream.get(), bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string some_of(const UniqueFd& stream, std::size_t size) {
  std::string text(size, '\0');
  std::size_t had = 0;
  for (ssize_t got = 0; had < size; had += static_cast<std::size_t>(got)) {
    got = ::read(stream.get(), text.data() + had, size - had);
    if (got <= 0) {
      break;
    }
  }
  text.resize(had);
  return text;
}

void put(const UniqueFd& stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(stream.get(), bytes.data(), bytes.size());
    ASSERT_GT(sent, 0);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

class ProcessesBeside : public Conformance {
 protected:
  // A shell with `script`, whose streams are pipes.
  struct Shell {
    std::unique_ptr<GuestProcess> process;
    UniqueFd in;
    UniqueFd out;
    UniqueFd err;
  };
  Shell shell(const std::string& script) {
    Pipe in = make_pipe();
    Pipe out = make_pipe();
    Pipe err = make_pipe();
    const std::array<int, 3> theirs{in.read.get(), out.write.get(), err.write.get()};
    auto started = sandbox().start_process(
        {.argv = {"/bin/sh", "-c", script}, .env = {}, .cwd = {}}, {}, theirs);
    if (!started) {
      ADD_FAILURE() << started.error().message();
      std::abort();
    }
    return {.process = std::move(started).value(),
            .in = std::move(in.write),
            .out = std::move(out.read),
            .err = std::move(err.read)};
  }

  static int status_of(Shell& shell) {
    EXPECT_TRUE(eventually([&] { return shell.process->ended().has_value(); }));
    return shell.process->ended() ? shell.process->ended()->wait_status : -1;
  }
};

TEST_P(ProcessesBeside, ReadAndWriteTheStreamsThatTheyAreGiven) {
  Shell cat = shell("read line; echo \"out $line\"; echo \"err $line\" >&2; exit 7");
  put(cat.in, "hello\n");
  EXPECT_EQ(all_of(cat.out), "out hello\n");
  EXPECT_EQ(all_of(cat.err), "err hello\n");
  EXPECT_EQ(WEXITSTATUS(status_of(cat)), 7);
}

TEST_P(ProcessesBeside, SeeTheEndOfTheirInput) {
  Shell cat = shell("cat; echo end");
  put(cat.in, "text\n");
  cat.in.reset();
  EXPECT_EQ(all_of(cat.out), "text\nend\n");
}

TEST_P(ProcessesBeside, GetAndGiveMoreThanAnyWindowWithoutLoss) {
  Shell cat = shell("cat");
  const std::string bytes = binary(12UL << 20);
  std::thread writer([&] {
    put(cat.in, bytes);
    cat.in.reset();
  });
  const std::string back = all_of(cat.out);
  writer.join();
  EXPECT_TRUE(back == bytes) << back.size();
}

TEST_P(ProcessesBeside, ThatNobodyReadsStopAndHoldUpNobodyElse) {
  Shell flood = shell("yes >&2 & yes; echo never >done");
  Shell other = shell("cat");
  for (int i = 0; i < 100; ++i) {
    put(other.in, "ping\n");
    ASSERT_EQ(some_of(other.out, 5), "ping\n");
  }
  EXPECT_EQ(output_of("echo run"), "run\n");
  EXPECT_TRUE(sandbox().alive());
}

TEST_P(ProcessesBeside, ThatNobodyReadsOnOneStreamAreReadOnTheOther) {
  Shell shout = shell("(yes >&2 &) ; for i in 1 2 3; do echo $i; sleep 0.05; done");
  EXPECT_EQ(some_of(shout.out, 6), "1\n2\n3\n");
}

TEST_P(ProcessesBeside, HaveEndedOnlyAfterTheirLastWords) {
  for (int i = 0; i < 20; ++i) {
    Shell last = shell("head -c 60000 /dev/zero; echo end");
    (void)status_of(last);
    (void)::fcntl(last.out.get(), F_SETFL, O_NONBLOCK);
    const std::string said = all_of(last.out);
    ASSERT_EQ(said.size(), 60'004U);
    ASSERT_TRUE(said.ends_with("end\n"));
  }
}

TEST_P(ProcessesBeside, EndThoughOthersHoldTheirStreams) {
  Shell parent = shell("(trap '' HUP; read line; echo $line; read more) & exit 3");
  EXPECT_EQ(WEXITSTATUS(status_of(parent)), 3);
}

TEST_P(ProcessesBeside, LearnThatNobodyReadsThemAnyMore) {
  Shell writer = shell("trap 'echo broken >&2; exit 5' PIPE; while :; do echo x || exit 5; done");
  EXPECT_EQ(some_of(writer.out, 2), "x\n");
  writer.out.reset();
  EXPECT_EQ(all_of(writer.err).empty(), false);
  EXPECT_EQ(WEXITSTATUS(status_of(writer)), 5);
}

TEST_P(ProcessesBeside, MakeWritingFailWhenTheyCloseTheirInput) {
  Shell closed = shell("exec <&-; echo closed; sleep 100");
  EXPECT_EQ(some_of(closed.out, 7), "closed\n");
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  EXPECT_TRUE(eventually([&] { return ::write(closed.in.get(), "x", 1) < 0; }));
  (void)::signal(SIGPIPE, before);
}

TEST_P(ProcessesBeside, AreSignaledAndReportTheSignal) {
  Shell sleeper = shell("echo up; exec sleep 100");
  EXPECT_EQ(some_of(sleeper.out, 3), "up\n");
  sleeper.process->signal(SIGTERM);
  EXPECT_EQ(WTERMSIG(status_of(sleeper)), SIGTERM);
}

TEST_P(ProcessesBeside, LiveOnWhenNobodyAsksAboutThemAnyMore) {
  Shell cat = shell("cat");
  cat.process.reset();
  put(cat.in, "still here");
  EXPECT_EQ(some_of(cat.out, 10), "still here");
  cat.in.reset();
  EXPECT_EQ(all_of(cat.out), "");
}

TEST_P(ProcessesBeside, EndWithTheSandboxAndSoDoTheirStreams) {
  Shell sleeper = shell("echo up; exec sleep 100");
  EXPECT_EQ(some_of(sleeper.out, 3), "up\n");
  sandbox().kill();
  EXPECT_EQ(all_of(sleeper.out), "");
  EXPECT_EQ(WTERMSIG(status_of(sleeper)), SIGKILL);
  sleeper.process.reset();
}

TEST_P(ProcessesBeside, ThatAreAgentsHaveASocketBothWays) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  Pipe out = make_pipe();
  auto agent = sandbox().start_detached(
      {.argv = {"/bin/sh", "-c",
                "read line <&3; echo \"got $line\" >&3; read line <&3 || echo bye"},
       .env = {},
       .cwd = {}},
      {}, {out.write.get(), out.write.get(), theirs.get()});
  ASSERT_TRUE(agent) << agent.error().message();
  theirs.reset();
  out.write.reset();
  put(ours, "message\n");
  EXPECT_EQ(some_of(ours, 12), "got message\n");
  ASSERT_EQ(::shutdown(ours.get(), SHUT_WR), 0);
  EXPECT_EQ(all_of(out.read), "bye\n");
  EXPECT_EQ(all_of(ours), "");
}

TEST_P(ProcessesBeside, ThatAreAgentsLearnThatTheirSocketIsClosed) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  Pipe out = make_pipe();
  auto agent = sandbox().start_detached({.argv = {"python3", "-c",
                                                  "import select\n"
                                                  "p = select.poll()\n"
                                                  "p.register(3, 0)\n"
                                                  "print(p.poll(10000) == [(3, select.POLLHUP)])"},
                                         .env = {},
                                         .cwd = {}},
                                        {}, {out.write.get(), out.write.get(), theirs.get()});
  ASSERT_TRUE(agent) << agent.error().message();
  theirs.reset();
  out.write.reset();
  ours.reset();
  EXPECT_EQ(all_of(out.read), "True\n");
}

TEST_P(ProcessesBeside, HaveATerminalWhereOneIsAskedFor) {
  const auto started = sandbox().start_in_terminal(
      {.argv = {"/bin/sh", "-c", "tty -s && stty size"}, .env = {}, .cwd = {}}, {},
      {.columns = 132, .rows = 50});
  ASSERT_TRUE(started);
  const UniqueFd& terminal = started.value()->terminal();
  std::string shown;
  EXPECT_TRUE(eventually([&] {
    std::array<char, 256> bytes;
    const ssize_t got = ::read(terminal.get(), bytes.data(), bytes.size());
    shown.append(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    return started.value()->ended().has_value() && got <= 0;
  }));
  EXPECT_EQ(shown, "50 132\r\n");
  EXPECT_EQ(started.value()->ended()->wait_status, 0);
}

TEST_P(ProcessesBeside, HoldDescriptorsOfOursOnlyWhereTheTierPassesThem) {
  Shell shown = shell("readlink /proc/self/fd/0");
  struct stat ours {};
  ASSERT_EQ(::fstat(shown.in.get(), &ours), 0);
  const std::string same = "pipe:[" + std::to_string(ours.st_ino) + "]\n";
  EXPECT_EQ(all_of(shown.out) == same, sandbox().features().passes_descriptors);
}

GB_FOR_EVERY_TIER(ProcessesBeside);

}  // namespace
}  // namespace glovebox::conformance
