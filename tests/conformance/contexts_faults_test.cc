// SPDX-License-Identifier: Apache-2.0
// Faults of a context: each has a clear end, disturbs nobody else and leaves nothing.
#include <signal.h>

#include <optional>

#include "contexts_fixture.h"
#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class FaultsOfAContext : public Contexts {
 protected:
  void SetUp() override {
    Contexts::SetUp();
    if (IsSkipped()) {
      return;
    }
    Live beside = make(GetParam());
    ASSERT_TRUE(beside.context);
    bystander_.emplace(std::move(beside));
    ASSERT_TRUE(eventually([this] { return bystander_->answers() > 0; }));
    before_ = Traces::look();
    make_with(kLimits);
  }

  void TearDown() override {
    if (!bystander_) {
      return;
    }
    const int answered = bystander_->answers();
    EXPECT_TRUE(eventually([&] { return bystander_->answers() > answered; }))
        << "nobody answers beside it any more";
    end_context();
    EXPECT_EQ(bystander_->finish(), "");
    EXPECT_THAT(Traces::left_since(before_), IsEmpty());
    EXPECT_FALSE(zygote_has_died());
    const Live after = make(GetParam());
    ASSERT_TRUE(after.context);
    expect_well(*after.context);
  }

  // Executes what goes wrong; it must end within the limit, with the bystander served meanwhile.
  Execution fault(const std::string& code, std::chrono::milliseconds wall = 10s) {
    const int answered = bystander_->answers();
    Execution execution = run(code, {.code = {}, .limits = {.wall = wall, .output = 64_KiB}});
    EXPECT_LE(execution.usage.wall, wall + kSoonUnderLoad);
    if (execution.usage.wall > 1s) {
      EXPECT_GT(bystander_->answers(), answered) << "the bystander had to wait";
    }
    return execution;
  }

  void expect_killed(const Execution& execution, int signal) {
    EXPECT_EQ(execution.status, Status::kSignaled);
    EXPECT_EQ(execution.signal, signal);
    EXPECT_EQ(execution.exit_code, 128 + signal);
    EXPECT_THAT(execution.notes, Contains(HasSubstr("interpreter has ended")));
    EXPECT_FALSE(context().alive());
    EXPECT_FALSE(context().execute({.code = "1"}));
  }

  static constexpr Limits kLimits{.memory = 256_MiB, .pids = 64};

 private:
  std::optional<Bystander> bystander_;
  Traces before_;
};

TEST_P(FaultsOfAContext, ASegmentationFaultIsASignal) {
  expect_killed(fault("print('before')\nimport ctypes; ctypes.string_at(0)"), SIGSEGV);
}

TEST_P(FaultsOfAContext, AnAbortIsASignal) {
  expect_killed(fault("import os; os.abort()"), SIGABRT);
}

TEST_P(FaultsOfAContext, ASuddenExitTellsItsCode) {
  const Execution execution = fault("import os; print('before'); os._exit(3)");
  EXPECT_EQ(execution.status, Status::kError);
  EXPECT_EQ(execution.exit_code, 3);
  EXPECT_FALSE(execution.signal);
  EXPECT_FALSE(context().alive());
}

TEST_P(FaultsOfAContext, KillingItselfIsASignal) {
  expect_killed(fault("import os; os.kill(os.getpid(), 9)"), SIGKILL);
}

TEST_P(FaultsOfAContext, StoppingItselfEndsByTime) {
  const Execution execution = fault("import os; os.kill(os.getpid(), 19)", 500ms);
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_FALSE(context().alive());
}

TEST_P(FaultsOfAContext, KillingEverythingItSeesHurtsNobodyElse) {
  // Spares who calls it (kill(2)), so that it finds nobody, or whoever stands beside it.
  const Execution execution = fault("import os; os.kill(-1, 9)");
  EXPECT_THAT(execution.status, AnyOf(Status::kSignaled, Status::kError, Status::kOk));
}

TEST_P(FaultsOfAContext, MemoryWithoutEndIsOutOfMemory) {
  const Execution execution =
      fault("kept = []\nwhile True: kept.append(bytearray(b'x' * (8 << 20)))");
  EXPECT_EQ(execution.status, Status::kOutOfMemory);
  EXPECT_THAT(execution.hits, Contains("memory"));
  EXPECT_FALSE(context().alive());
}

TEST_P(FaultsOfAContext, MemoryOfItsChildrenIsAHit) {
  const Execution execution = fault(
      "import subprocess, sys\n"
      "print(subprocess.run([sys.executable, '-c',\n"
      "      'kept = b\"x\" * (400 << 20)']).returncode)");
  EXPECT_THAT(execution.hits, Contains("memory"));
  if (context().alive()) {
    EXPECT_EQ(execution.out.bytes, "-9\n");
    expect_well(context());
  }
}

TEST_P(FaultsOfAContext, ALoopInCEndsByTime) {
  const Execution execution = fault("import itertools; sum(itertools.repeat(0))", 500ms);
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_EQ(execution.limit, "time");
  EXPECT_FALSE(context().alive());
}

TEST_P(FaultsOfAContext, AGigabyteOfOutputIsCut) {
  const Execution execution =
      fault("import os\nblock = b'x' * (1 << 20)\nfor _ in range(1000): os.write(1, block)", 60s);
  EXPECT_EQ(execution.status, Status::kOk);
  EXPECT_EQ(execution.out.total, 1000U << 20U);
  EXPECT_THAT(execution.hits, Contains("output"));
  expect_well(context());
}

TEST_P(FaultsOfAContext, AForkBombIsHeldByItsLimit) {
  if (!Cgroup::support().pids) {
    GTEST_SKIP() << "no cgroup limits processes here";
  }
  const Execution execution = fault(
      "import os\n"
      "while True:\n"
      "    try: os.fork()\n"
      "    except OSError: pass\n",
      3s);
  if (is_gvisor()) {
    // It refuses them itself, which nobody counts; and each that it allows takes memory of its own.
    EXPECT_THAT(execution.status, AnyOf(Status::kTimeout, Status::kOutOfMemory));
    return;
  }
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_THAT(execution.hits, Contains("pids"));
  EXPECT_LE(execution.usage.pids_peak, 64U);
}

TEST_P(FaultsOfAContext, AForkThatLivesOnSpeaksNotForTheContext) {
  const Execution execution = fault(
      "import os, time\n"
      "if os.fork() == 0:\n"
      "    print('child', flush=True)\n"
      "    x = 'of the child'\n"
      "else:\n"
      "    os.wait(); x = 'of the parent'\n");
  EXPECT_EQ(execution.status, Status::kOk);
  EXPECT_EQ(output_of("print(x)"), "of the parent");
}

TEST_P(FaultsOfAContext, ClosingAllDescriptorsIsTold) {
  const Execution execution = fault("import os; os.closerange(0, 1 << 16)\nx = 1");
  EXPECT_NE(execution.status, Status::kFailed);
  EXPECT_EQ(context().alive(), execution.status == Status::kOk);
}

TEST_P(FaultsOfAContext, ClosingTheUsualDescriptorsIsSurvived) {
  fault("import os; os.closerange(0, 64)\nx = 1");
  EXPECT_EQ(output_of("print(x)"), "1");
}

TEST_P(FaultsOfAContext, ReplacedDescriptorsEndItOrAreSurvived) {
  const Execution execution = fault(
      "import os\nnull = os.open('/dev/null', os.O_RDWR)\n"
      "for fd in range(256):\n"
      "    if fd != null:\n        os.dup2(null, fd)\n");
  EXPECT_NE(execution.status, Status::kFailed);
  if (context().alive()) {
    expect_well(context());
  }
}

TEST_P(FaultsOfAContext, ClobberedModulesAreSurvivedOrTold) {
  for (const char* const code :
       {"import sys; sys.modules.clear()",
        "import builtins\nfor name in list(vars(builtins)): vars(builtins).pop(name, None)",
        "import sys; sys.stdout = sys.stderr = None", "import sys; sys.stdout = 7",
        "import os, json, struct, socket; os.write = os.read = json.dumps = json.loads = None\n"
        "struct.pack = struct.Struct = socket.socket = None",
        "import gc\nfor thing in gc.get_objects():\n"
        "    if type(thing) is dict and thing is not globals() and 'wire' in thing:\n"
        "        thing.clear()",
        "import IPython; get_ipython().run_cell = None",
        "import sys; sys.settrace(lambda *a: 1 / 0)", "import threading; threading.Lock = None",
        "import sys; sys.setrecursionlimit(60)",
        "import sys; sys.excepthook = sys.displayhook = None"}) {
    const Execution execution = fault(code, 3s);
    EXPECT_NE(execution.status, Status::kFailed) << code;
    if (context().alive()) {
      const auto next = context().execute({.code = "20 + 22", .limits = {.wall = 3s}});
      // It may have ended right after its answer, which nobody can know before.
      EXPECT_TRUE(next || !context().alive()) << code << ": " << next.error().message();
    }
    if (!context().alive()) {
      make_with(kLimits);
    }
  }
}

TEST_P(FaultsOfAContext, RecursionIsAnError) {
  const Execution execution = fault("def f(): return f()\nf()");
  EXPECT_EQ(execution.status, Status::kError);
  EXPECT_EQ(execution.error.value_or(GuestError{}).name, "RecursionError");
  expect_well(context());
}

TEST_P(FaultsOfAContext, AnOverflownStackIsASignal) {
  expect_killed(fault("import sys; sys.setrecursionlimit(1 << 30)\n"
                      "class A:\n  def __getattr__(self, name): return getattr(self, name)\n"
                      "A().x"),
                SIGSEGV);
}

TEST_P(FaultsOfAContext, AThreadThatNeverEndsHoldsNobodyUp) {
  const Execution execution = fault(
      "import threading\n"
      "def spin():\n  while True: pass\n"
      "threading.Thread(target=spin).start()\nprint('on')");
  EXPECT_EQ(execution.status, Status::kOk);
  EXPECT_EQ(execution.out.bytes, "on\n");
  expect_well(context());
}

TEST_P(FaultsOfAContext, ThreadsWithoutEndAreHeldByTheirLimit) {
  if (!Cgroup::support().pids) {
    GTEST_SKIP() << "no cgroup limits processes here";
  }
  const Execution execution = fault(
      "import threading\nstop = threading.Event()\n"
      "while True: threading.Thread(target=stop.wait, daemon=True).start()");
  EXPECT_EQ(execution.error.value_or(GuestError{}).name, "RuntimeError");
  if (is_gvisor()) {
    EXPECT_EQ(execution.status, Status::kError) << "nobody counts what its kernel refuses";
  } else {
    EXPECT_EQ(execution.status, Status::kPidsLimit);
    EXPECT_THAT(execution.hits, Contains("pids"));
  }
  expect_well(context());
}

TEST_P(FaultsOfAContext, AFullDiskIsAnError) {
  // Or, of a tier without a file system of its own, a file that has its full size.
  const Execution execution = fault(
      "with open('big', 'wb') as file:\n"
      "    while True: file.write(bytes(1 << 20)); file.flush()");
  EXPECT_THAT(execution.status, AnyOf(Status::kError, Status::kDiskFull, Status::kOutOfMemory));
}

GB_FOR_EVERY_WAY(FaultsOfAContext);

}  // namespace
}  // namespace glovebox::conformance
