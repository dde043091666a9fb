// SPDX-License-Identifier: Apache-2.0
// Contexts: what one remembers, tells and restores, and how it is stopped.
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "contexts_fixture.h"
#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Code that spends a long time in C and looks at no signal meanwhile.
constexpr const char* kDeaf = "import itertools; sum(itertools.repeat(0))";

class LifeOfAContext : public Contexts {};

TEST_P(LifeOfAContext, RemembersWhatWasDone) {
  EXPECT_EQ(run("import math; x = 41\ndef f(y): return x + y").status, Status::kOk);
  const Execution execution = run("f(1)");
  ASSERT_EQ(execution.results.size(), 1U);
  EXPECT_EQ(execution.results[0].kind, Event::Kind::kResult);
  EXPECT_EQ(execution.results[0].data.at("text/plain"), "\"42\"");
  EXPECT_EQ(execution.execution_count, 2);
  EXPECT_EQ(context().language(), "python");
  EXPECT_THAT(context().version(), testing::StartsWith("3."));
}

TEST_P(LifeOfAContext, GoesOnAfterAnError) {
  run("kept = [1]");
  const Execution failed = run("kept.append(2); 1 / 0");
  EXPECT_EQ(failed.status, Status::kError);
  EXPECT_EQ(failed.exit_code, 1);
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->name, "ZeroDivisionError");
  EXPECT_EQ(failed.error->value, "division by zero");
  EXPECT_THAT(failed.error->traceback, HasSubstr("ZeroDivisionError"));
  EXPECT_EQ(output_of("print(kept)"), "[1, 2]");
  EXPECT_EQ(run("def broken(:").error.value_or(GuestError{}).name, "SyntaxError");
  expect_well(context());
}

TEST_P(LifeOfAContext, TellsEventsInTheirOrder) {
  std::vector<std::string> seen;
  ExecuteOptions options;
  options.observer = [&seen](const Event& event) {
    switch (event.kind) {
      case Event::Kind::kStarted:
        seen.emplace_back("started");
        break;
      case Event::Kind::kStdout:
        seen.push_back("out " + event.text);
        break;
      case Event::Kind::kStderr:
        seen.push_back("err " + event.text);
        break;
      case Event::Kind::kDisplay:
        seen.emplace_back("display");
        break;
      case Event::Kind::kResult:
        seen.emplace_back("result");
        break;
      default:
        seen.emplace_back("other");
    }
  };
  const Execution execution =
      run("import os, sys\n"
          "print('a', flush=True)\n"
          "print('b', file=sys.stderr, flush=True)\n"
          "display(1)\n"
          "os.write(1, b'past the language\\n')\n"
          "display(2)\n"
          "3",
          options);
  // What goes past the language takes another way: it comes no later than what follows it.
  const auto past = std::ranges::find(seen, "out past the language\n");
  ASSERT_NE(past, seen.end());
  EXPECT_LT(past - seen.begin(), 6);
  seen.erase(past);
  EXPECT_THAT(seen, ElementsAre("started", "out a\n", "err b\n", "display", "display", "result"));
  EXPECT_EQ(execution.out.total, 20U);
  EXPECT_EQ(execution.err.bytes, "b\n");
}

TEST_P(LifeOfAContext, AsksItsCaller) {
  std::vector<std::string> prompts;
  ExecuteOptions options;
  RequestBox requests;
  options.requests = &requests;
  options.allow_input = true;
  options.observer = [&](const Event& event) {
    if (event.kind == Event::Kind::kInputRequest) {
      prompts.push_back(event.text);
      const bool first = prompts.size() == 1;
      EXPECT_TRUE(requests.answer(first ? std::optional<std::string>("Ada") : std::nullopt));
    }
  };
  const Execution execution =
      run("print('hello', input('name? '))\n"
          "try: input('again? ')\n"
          "except EOFError: print('nobody')",
          options);
  EXPECT_EQ(execution.out.bytes, "hello Ada\nnobody\n");
  EXPECT_THAT(prompts, ElementsAre("name? ", "again? "));
}

TEST_P(LifeOfAContext, CallsItsCallersTools) {
  RequestBox requests;
  ExecuteOptions options{.code = {}, .requests = &requests};
  options.tools.tools = {{.name = "twice", .parameters = R"({"properties": {"n": {}}})"}};
  options.observer = [&](const Event& event) {
    if (event.kind == Event::Kind::kToolCall) {
      EXPECT_EQ(event.text, "twice");
      const bool first = event.arguments == R"({"n":21})";
      EXPECT_TRUE(requests.answer_call(
          event.request, {.result = "42", .error = first ? std::optional<std::string>() : "no"}));
    }
  };
  const Execution execution =
      run("print(twice(21))\n"
          "try: twice(n=1)\n"
          "except ToolError as error: print(error)",
          options);
  EXPECT_EQ(execution.out.bytes, "42\nno\n");
  EXPECT_EQ(run("twice(21)").error->name, "NameError") << "which is offered once";
}

TEST_P(LifeOfAContext, HasAnEnvironmentForOneExecution) {
  const std::string show = "import os; print(os.environ.get('GB_A'), os.environ.get('GB_B'))";
  output_of("import os; os.environ['GB_B'] = 'mine'");
  const Execution inside = run(show, {.code = {}, .env = {{"GB_A", "1"}, {"GB_B", "yours"}}});
  EXPECT_EQ(inside.out.bytes, "1 yours\n");
  EXPECT_EQ(output_of(show), "None mine");
  const Execution failed = run("1 / 0", {.code = {}, .env = {{"GB_A", "1"}}});
  EXPECT_EQ(failed.status, Status::kError);
  EXPECT_EQ(output_of(show), "None mine") << "after an error";
}

TEST_P(LifeOfAContext, SharesFilesWithItsNeighbours) {
  const std::unique_ptr<Context> other = start(GetParam(), context().sandbox());
  ASSERT_TRUE(other);
  output_of("x = 'first'; open('note', 'w').write(x)");
  EXPECT_EQ(output_of(*other, "print(open('note').read(), 'x' in globals())"), "first False");
  output_of(*other, "open('note', 'w').write('second')");
  EXPECT_EQ(output_of("print(open('note').read())"), "second");
  const auto plain = context().sandbox().run({.argv = {"cat", "note"}, .env = {}, .cwd = {}},
                                             {.limits = {}, .kill_rest = false});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->out.bytes, "second");
  expect_well(context());
  expect_well(*other);
}

TEST_P(LifeOfAContext, OutlivesItsNeighbours) {
  std::unique_ptr<Context> other = start(GetParam(), context().sandbox());
  ASSERT_TRUE(other);
  EXPECT_EQ(run(*other, "import os; os._exit(7)").exit_code, 7);
  EXPECT_FALSE(other->alive());
  EXPECT_FALSE(other->execute({.code = "1"}));
  other.reset();
  expect_well(context());
}

TEST_P(LifeOfAContext, EndsWhenItsCodeAsksForIt) {
  const Execution execution = run("print('bye')\nexit()");
  EXPECT_EQ(execution.out.bytes, "bye\n");
  EXPECT_EQ(execution.status, Status::kOk);
  const auto next = context().execute({.code = "1", .limits = {.wall = 10s}});
  EXPECT_FALSE(next && next->status == Status::kOk);
  EXPECT_FALSE(context().alive());
}

TEST_P(LifeOfAContext, AnswersQuestionsBesideExecutions) {
  run("a_long_name = 1");
  const auto answer = context().ask(agent::Request::kComplete, R"({"code":"a_long_","cursor":7})");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_THAT(*answer, HasSubstr("a_long_name"));
}

TEST_P(LifeOfAContext, KeepsForTheNextExecutionWhatIsPrintedBesideAQuestion) {
  run("import threading\n"
      "asked, printed = threading.Event(), threading.Event()\n"
      "def report():\n"
      "    asked.wait()\n"
      "    print('from beside', flush=True)\n"
      "    printed.set()\n"
      "class Slow:\n"
      "    def __dir__(self):\n"
      "        asked.set()\n"
      "        printed.wait()\n"
      "        return ['name']\n"
      "slow = Slow()\n"
      "threading.Thread(target=report, daemon=True).start()");
  const auto completion = context().complete({.code = "slow."}, 10s);
  ASSERT_TRUE(completion) << completion.error().message();
  EXPECT_THAT(completion->matches, ElementsAre("slow.name"));
  EXPECT_THAT(output_of("pass"), HasSubstr("from beside"));
}

TEST_P(LifeOfAContext, KeepsWhatWasPrintedBeforeASuddenEnd) {
  const Execution execution =
      run("import os\nfor i in range(3000): print(i, flush=True)\nos._exit(3)");
  EXPECT_EQ(execution.exit_code, 3);
  EXPECT_THAT(execution.out.bytes, testing::EndsWith("2998\n2999\n"));
  EXPECT_EQ(std::ranges::count(execution.out.bytes, '\n'), 3000);
}

TEST_P(LifeOfAContext, HasAllThatWasWrittenBeforeItWasDone) {
  // As much as lies between two programs, past the language, which says nothing of it.
  for (int i = 0; i < 50; ++i) {
    const Execution execution =
        run("import os\nblock = b'x' * 65536\nfor _ in range(5): os.write(1, block)");
    ASSERT_EQ(execution.out.total, 5 * 65'536U);
    ASSERT_EQ(output_of("print(6 * 7)"), "42");
  }
}

TEST_P(LifeOfAContext, LeavesNothing) {
  (void)make(GetParam());  // What is found out once in a process stays open.
  const Traces before = Traces::look();
  output_of("import subprocess; kept = subprocess.Popen(['sleep', '1000'])");
  end_context();
  EXPECT_THAT(Traces::left_since(before), testing::IsEmpty());
}

GB_FOR_EVERY_WAY(LifeOfAContext);

TEST_P(LifeOfAContext, AwaitsAtTheTopLevel) {
  EXPECT_EQ(output_of("import asyncio\nprint(await asyncio.sleep(0.01, 7))"), "7");
}

class StoppingAContext : public Contexts {
 protected:
  // Executes until `cancel` is signalled by the first output.
  Execution cancelled(const std::string& code) {
    const UniqueFd cancel(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    ExecuteOptions options;
    options.cancel_fd = cancel.get();
    options.observer = [&cancel](const Event& event) {
      if (event.kind == Event::Kind::kStdout) {
        (void)::eventfd_write(cancel.get(), 1);
      }
    };
    return run(code, std::move(options));
  }
};

TEST_P(StoppingAContext, ByTheCallerLeavesItAlive) {
  output_of("x = 1");
  const Execution execution =
      cancelled("import time\nx = 2\nprint('waiting', flush=True)\nwhile True: time.sleep(1000)");
  EXPECT_EQ(execution.status, Status::kCanceled);
  EXPECT_LT(execution.usage.wall, 5s);
  ASSERT_TRUE(execution.error);
  EXPECT_EQ(execution.error->name, "KeyboardInterrupt");
  EXPECT_EQ(output_of("print(x)"), "2");
}

TEST_P(StoppingAContext, WhenItsCodeTakesTheInterruptForItselfIsNoFailure) {
  const Execution execution = cancelled(
      "import time\ntry:\n  print('waiting', flush=True)\n  time.sleep(1000)\n"
      "except KeyboardInterrupt: print('saved')");
  EXPECT_EQ(execution.status, Status::kOk);
  EXPECT_THAT(execution.out.bytes, HasSubstr("saved"));
  expect_well(context());
}

TEST_P(StoppingAContext, ByTheCallerEndsItWhenItIsDeaf) {
  // Deaf from before it is told: an interrupt that came earlier would be an exception.
  const Execution execution =
      cancelled(std::string("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                            "print('deaf', flush=True)\n") +
                kDeaf);
  EXPECT_EQ(execution.status, Status::kCanceled);
  EXPECT_EQ(execution.signal, SIGKILL);
  EXPECT_FALSE(context().alive());
}

TEST_P(StoppingAContext, ByTimeLeavesItAliveWhenItAnswers) {
  output_of("x = 0");
  const Execution execution = run("while True: x += 1", {.code = {}, .limits = {.wall = 300ms}});
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_EQ(execution.limit, "time");
  EXPECT_THAT(execution.hits, Contains("time"));
  EXPECT_GE(execution.usage.wall, 300ms);
  EXPECT_LE(execution.usage.wall, kSoonUnderLoad);
  EXPECT_EQ(output_of("print(x > 0)"), "True");
}

TEST_P(StoppingAContext, ByTimeDoesNotCountTheTimeOfAPause) {
  context();
  std::thread pauser;
  const Execution execution =
      run("import time\nprint('begun', flush=True)\nfor i in range(10): time.sleep(0.05)",
          {.code = {}, .limits = {.wall = 2s}, .observer = [&](const Event& event) {
             if (event.kind == Event::Kind::kStdout && !pauser.joinable()) {
               context().sandbox().pause();
               pauser = std::thread([&] {
                 std::this_thread::sleep_for(3s);  // Longer than it may take.
                 context().sandbox().resume();
               });
             }
           }});
  pauser.join();
  EXPECT_EQ(execution.status, Status::kOk);
  EXPECT_LT(execution.usage.wall, 2s);
  expect_well(context());
}

TEST_P(StoppingAContext, ByTimeEndsItSoonWhenItIsDeaf) {
  expect_well(context());
  const Execution execution = run(kDeaf, {.code = {}, .limits = {.wall = 300ms}});
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_EQ(execution.limit, "time");
  EXPECT_EQ(execution.signal, SIGKILL);
  EXPECT_GE(execution.usage.wall, 300ms);
  EXPECT_LE(execution.usage.wall, kSoonUnderLoad);
  EXPECT_FALSE(context().alive());
}

TEST_P(StoppingAContext, ByTimeEndsOneThatSwallowsInterrupts) {
  const Execution execution =
      run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
          "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
          {.code = {}, .limits = {.wall = 300ms}});
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_LE(execution.usage.wall, kSoonUnderLoad);
  EXPECT_FALSE(context().alive());
}

TEST_P(StoppingAContext, ByProcessorTimeIsATimeoutOfItsOwn) {
  const Execution execution =
      run("while True: pass", {.code = {}, .limits = {.wall = 5s, .cpu_time = 300ms}});
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_EQ(execution.limit, "cpu_time");
  expect_well(context());
}

TEST_P(StoppingAContext, ProcessorTimeIsCountedForEachExecution) {
  const char* const kBusy =
      "import time\nend = time.process_time() + 0.15\nwhile time.process_time() < end: pass";
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(run(kBusy, {.code = {}, .limits = {.cpu_time = 500ms}}).status, Status::kOk) << i;
  }
}

TEST_P(StoppingAContext, TooMuchOutputIsCutAndCostsNoMemoryOfOurs) {
  expect_well(context());
  reset_peak();
  const std::uint64_t before = peak_memory();
  const Execution execution =
      run("block = 'x' * 999_999 + '\\n'\nfor _ in range(1000): print(block, end='')\n"
          "print('the end')",
          {.code = {}, .limits = {.wall = 120s, .output = 1_MiB}});
  EXPECT_EQ(execution.status, Status::kOk);
  EXPECT_EQ(execution.out.total, 1'000'000'000U + 8);
  EXPECT_TRUE(execution.out.truncated);
  EXPECT_THAT(execution.hits, Contains("output"));
  EXPECT_LE(execution.out.bytes.size(), (1_MiB).count + 1024);
  EXPECT_THAT(execution.out.bytes, testing::EndsWith("the end\n"));
  EXPECT_LT(peak_memory() - before, (64_MiB).count);
  expect_well(context());
}

TEST_P(StoppingAContext, AFloodPastTheLanguageIsCutToo) {
  expect_well(context());
  reset_peak();
  const std::uint64_t before = peak_memory();
  const Execution execution =
      run("import os\nblock = b'x' * 65536\nfor _ in range(4096): os.write(1, block)",
          {.code = {}, .limits = {.wall = 120s, .output = 64_KiB}});
  EXPECT_EQ(execution.status, Status::kOk);
  EXPECT_EQ(execution.out.total, 65'536U * 4096);
  EXPECT_TRUE(execution.out.truncated);
  EXPECT_LT(peak_memory() - before, (64_MiB).count);
  expect_well(context());
}

GB_FOR_EVERY_WAY(StoppingAContext);

class EndsOfForks : public ForkedContexts {};

// More than a socket holds messages of: a zygote that waited for a reader would wait for no child,
// and the sandbox could not end.
TEST_P(EndsOfForks, HundredsEndTogetherWhileNobodyAsksHow) {
  constexpr int kForks = 320;
  Live live = make(GetParam(), {.memory = 4_GiB, .pids = 2'000});
  ASSERT_TRUE(live.context);
  std::vector<std::unique_ptr<Context>> forks;
  for (int i = 0; i < kForks; ++i) {
    forks.push_back(start(GetParam(), *live.sandbox));
    ASSERT_TRUE(forks.back());
  }
  const auto ended = live.sandbox->end();
  EXPECT_TRUE(ended) << ended.error().message();
  EXPECT_FALSE(live.sandbox->alive());
  forks.clear();
  live = make(GetParam());
  ASSERT_TRUE(live.context);
  expect_well(*live.context);
}

GB_FOR_FORKS(EndsOfForks);

}  // namespace
}  // namespace glovebox::conformance
