// SPDX-License-Identifier: Apache-2.0
// The life of a sandbox: many at once, cut short from inside and outside, and its end.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include "fixture.h"
#include "sandbox/slot.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::IsEmpty;

class Lifecycle : public Conformance {
 protected:
  // Kills the warden of the only sandbox and waits until it is dead.
  void kill_warden() {
    std::vector<pid_t> all;
    std::vector<pid_t> rest;
    // Guests may be starting or ending between the looks. What is ours can be more than the warden:
    // a kernel of the sandbox's own may have a server of files.
    ASSERT_TRUE(eventually([&] {
      all = processes();
      rest = guests();
      return all.size() > rest.size() && all == processes();
    }));
    for (const pid_t pid : all) {
      if (std::ranges::find(rest, pid) == rest.end()) {
        // By what is readable for a zombie, too: reaping it is the sandbox's part, or an engine's.
        pollfd dead{sandbox().pidfd(), POLLIN, 0};
        ASSERT_EQ(::kill(pid, SIGKILL), 0);
        ASSERT_EQ(::poll(&dead, 1, 10'000), 1);
      }
    }
  }

  void expect_that_nothing_works() {
    const Command command{.argv = {"/bin/true"}, .env = {}, .cwd = {}};
    EXPECT_FALSE(sandbox().run(command, {}));
    EXPECT_FALSE(sandbox().write_file("x", "x", 0644));
    EXPECT_FALSE(sandbox().mark());
    EXPECT_FALSE(sandbox().changed_files());
    const UniqueFd archive = file_with(std::string(5 << 20, '\0'));
    EXPECT_FALSE(sandbox().unpack("", archive.get()));
    EXPECT_FALSE(sandbox().pack_changes(1_MiB, [](std::string_view) { return Result<void>(); }));
    EXPECT_FALSE(sandbox().alive());
  }
};

// True when the process is gone, or dead and only not reaped by whoever is its parent now.
bool is_dead(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end + 2, 1) == "Z";
}

TEST_P(Lifecycle, GoesOnWhileAQuestionIsNotAnswered) {
  EXPECT_EQ(output_of("echo up"), "up\n");
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, sandbox().pidfd(), SIGSTOP, nullptr, 0), 0);
  auto asked = std::async(std::launch::async, [this] { return sandbox().snapshot(1); });
  auto started = std::async(std::launch::async, [this] {
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const std::array<int, 3> streams{null.get(), null.get(), null.get()};
    return sandbox().start_process({.argv = {"true"}, .env = {}, .cwd = {}}, {}, streams);
  });
  auto paused = std::async(std::launch::async, [this] {
    sandbox().pause();
    sandbox().resume();
    sandbox().kill();
  });
  ASSERT_EQ(paused.wait_for(60s), std::future_status::ready);
  // Where resume() ends our stop too, an answer may come before the end.
  EXPECT_EQ(asked.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(started.wait_for(60s), std::future_status::ready);
  EXPECT_FALSE(sandbox().alive());
}

TEST_P(Lifecycle, AnswersEachOfManyThreadsThatAskAtOnce) {
  (void)sandbox();  // Made by the first that asks for it.
  std::vector<std::thread> threads;
  std::atomic<int> well = 0;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([this, number, &well] {
      const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
      const std::array<int, 3> streams{null.get(), null.get(), null.get()};
      for (int round = 0; round < 25; ++round) {
        const int code = number * 25 + round;
        auto process = sandbox().start_process(
            {.argv = {"/bin/sh", "-c", "exit " + std::to_string(code)}, .env = {}, .cwd = {}}, {},
            streams);
        if (!process) {
          ADD_FAILURE() << process.error().message();
          return;
        }
        while (!process.value()->ended()) {
          auto polled = process.value()->watch();
          (void)::poll(polled.data(), polled.size(), 10'000);
        }
        well += WEXITSTATUS(process.value()->ended()->wait_status) == code ? 1 : 0;
        EXPECT_TRUE(sandbox().disk_use());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(well, 200);
}

TEST_P(Lifecycle, EndsOnceHoweverOftenItIsEnded) {
  EXPECT_EQ(output_of("echo up"), "up\n");
  EXPECT_TRUE(sandbox().end());
  EXPECT_TRUE(sandbox().end());
  EXPECT_THAT(processes(), IsEmpty());
  expect_that_nothing_works();
}

TEST_P(Lifecycle, LeavesItsOwnerUndumpable) {
  ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1), 0);
  sandbox();
  EXPECT_NE(::prctl(PR_GET_DUMPABLE), 1);
  EXPECT_EQ(output_of("echo up"), "up\n");
  EXPECT_NE(::prctl(PR_GET_DUMPABLE), 1);
}

TEST_P(Lifecycle, EndsWithItsObject) {
  EXPECT_EQ(sh("setsid sleep 1000 >/dev/null 2>&1 &", {.limits = {}, .kill_rest = false}).status,
            Status::kOk);
  EXPECT_EQ(living_guests(), 1U);
  end_sandbox();
  EXPECT_TRUE(eventually([this] { return processes().empty(); }));
}

TEST_P(Lifecycle, EndsWithoutEverHavingRun) {
  sandbox();
  end_sandbox();
  EXPECT_THAT(processes(), IsEmpty());
}

TEST_P(Lifecycle, OfThirtyAtOnceGivesEachItsOwnAnswer) {
  constexpr int kCount = 30;
  std::array<std::string, kCount> answers;
  std::array<std::string, kCount> ids;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kCount; ++i) {
      threads.emplace_back([this, i, &answers, &ids] {
        const auto own = make();
        if (!own || !own->write_file("number", std::to_string(i), 0644)) {
          return;
        }
        const UniqueFd input = file_with(" in" + std::to_string(i));
        const auto outcome =
            own->run({.argv = {"/bin/sh", "-c", "cat number; cat; exit " + std::to_string(100 + i)},
                      .env = {},
                      .cwd = {}},
                     {.limits = {}, .stdin_fd = input.get()});
        if (outcome) {
          answers.at(static_cast<std::size_t>(i)) =
              outcome->out.bytes + " " + std::to_string(outcome->exit_code);
        }
        ids.at(static_cast<std::size_t>(i)) = own->id();
        EXPECT_TRUE(own->end());
      });
    }
  }
  for (int i = 0; i < kCount; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(answers.at(static_cast<std::size_t>(i)),
              n + " in" + n + " " + std::to_string(100 + i));
  }
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end()) << "two have the same id";
  EXPECT_THAT(processes(), IsEmpty());
}

TEST_P(Lifecycle, WithADeadWardenGivesErrorsAndDoesNotHang) {
  sandbox();
  kill_warden();
  expect_that_nothing_works();
  EXPECT_TRUE(sandbox().end());
  EXPECT_THAT(processes(), IsEmpty());
}

TEST_P(Lifecycle, WhoseWardenDiesDuringARunGivesAnErrorAndLeavesNothing) {
  if (!features().own_pids && sandbox().walls().cgroup == "none") {
    GTEST_SKIP() << "only its warden knows the processes of a sandbox of " << GetParam() << " here";
  }
  RunOptions options;
  options.observer.out = [this](std::string_view) { kill_warden(); };
  const auto outcome = sandbox().run(
      {.argv = {"/bin/sh", "-c", "setsid sleep 1000 & echo up; sleep 1000"}, .env = {}, .cwd = {}},
      options);
  EXPECT_FALSE(outcome);
  EXPECT_FALSE(sandbox().alive());
  EXPECT_TRUE(sandbox().end());
  EXPECT_TRUE(eventually([this] { return processes().empty(); })) << "a guest lives";
}

TEST_P(Lifecycle, EndsWhenItsOwnerIsKilled) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::pipe2(pair.data(), O_CLOEXEC), 0);
  const UniqueFd reader(pair[0]);
  UniqueFd writer(pair[1]);
  const pid_t owner = ::fork();
  ASSERT_GE(owner, 0);
  if (owner == 0) {
    RunOptions options{.limits = {.wall = 100s}};
    options.observer.out = [&writer](std::string_view home) {
      (void)!::write(writer.get(), home.data(), home.size());
    };
    (void)sh(
        "trap '' HUP TERM; setsid sleep 1000 & echo x >witness; echo -n \"$HOME\"; "
        "sleep 1000",
        options);
    ::_exit(0);
  }
  writer.reset();
  std::array<char, 4096> home{};
  const ssize_t got = ::read(reader.get(), home.data(), home.size());
  const std::vector<pid_t> before = processes();
  EXPECT_GT(got, 0);
  // The owner, the shell, a daemon at the least; a warden only where it is the owner's child.
  EXPECT_GE(before.size(), 3U);
  EXPECT_EQ(::kill(owner, SIGKILL), 0);
  EXPECT_EQ(::waitpid(owner, nullptr, 0), owner);
  for (const pid_t pid : before) {
    EXPECT_TRUE(eventually([pid] { return is_dead(pid); })) << pid;
  }
  EXPECT_TRUE(eventually([this] { return guests().empty(); }));
  // What only we can remove goes with the next sweep, which may be that of a test beside this one.
  EXPECT_THAT(sweep_leftovers().failures, IsEmpty());
  const std::string witness = std::string(home.data()) + "/witness";
  EXPECT_TRUE(eventually([&witness] { return !std::filesystem::exists(witness); }));
}

TEST_P(Lifecycle, CanBeCanceledInTheMiddleOfARun) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::pipe2(pair.data(), O_CLOEXEC), 0);
  const UniqueFd cancel(pair[0]);
  UniqueFd writer(pair[1]);
  RunOptions options{.limits = {.wall = 100s}, .cancel_fd = cancel.get()};
  options.observer.out = [&writer](std::string_view) {
    EXPECT_EQ(::write(writer.get(), "x", 1), 1);
  };
  const RunOutcome outcome =
      sh("trap '' TERM INT HUP; (sleep 1000 &); echo up; while :; do sleep 1; done", options);
  EXPECT_EQ(outcome.status, Status::kCanceled);
  EXPECT_EQ(outcome.out.bytes, "up\n");
  EXPECT_LT(outcome.usage.wall, 60s);
  EXPECT_TRUE(eventually([&] { return living_guests() == 0; }));
  if (sandbox().alive()) {
    EXPECT_EQ(output_of("echo again"), "again\n");
  }
}

TEST_P(Lifecycle, CanBeCanceledByAnEndOfFile) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::pipe2(pair.data(), O_CLOEXEC), 0);
  const UniqueFd cancel(pair[0]);
  UniqueFd(pair[1]).reset();
  const RunOutcome outcome =
      sh("sleep 1000", {.limits = {.wall = 100s}, .cancel_fd = cancel.get()});
  EXPECT_EQ(outcome.status, Status::kCanceled);
}

TEST_P(Lifecycle, IsToldInOrderWhileItHappens) {
  std::string events;
  RunOptions options;
  options.observer.started = [&events] { events += "started "; };
  options.observer.out = [&events](std::string_view bytes) { events += bytes; };
  options.observer.err = [&events](std::string_view bytes) { events += bytes; };
  const RunOutcome outcome = sh("echo out; sleep 0.05; echo err >&2", options);
  EXPECT_EQ(events, "started out\nerr\n");
  EXPECT_GT(outcome.first_event, 0us);
  EXPECT_LE(outcome.first_event, outcome.usage.wall);
}

TEST_P(Lifecycle, IsRefusedWithLimitsThatCouldNeverHold) {
  for (const Limits& limits :
       {Limits{.memory = Bytes{0}}, Limits{.pids = 0}, Limits{.wall = 0ms}}) {
    const auto made = Sandbox::create({.limits = limits, .env = {}, .mounts = {}}, tier());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), ErrorCode::kInvalid);
  }
}

TEST_P(Lifecycle, SaysWhatItsStartTook) {
  EXPECT_FALSE(sandbox().timings().empty());
  std::vector<std::string> steps;
  for (const Timing& timing : sandbox().timings()) {
    EXPECT_GE(timing.took, 0us) << timing.step;
    steps.push_back(timing.step);
  }
  EXPECT_THAT(steps, Contains("warden"));
}

GB_FOR_EVERY_TIER(Lifecycle);

}  // namespace
}  // namespace glovebox::conformance
