// SPDX-License-Identifier: Apache-2.0
// Checkpoints: memory and workspace go back together, whatever happened since.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "contexts_fixture.h"
#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class CheckpointsOfAContext : public Contexts {
 protected:
  std::uint32_t checkpoint(std::vector<std::string>* not_carried = nullptr) {
    const auto made = context().checkpoint(not_carried);
    if (!made) {
      ADD_FAILURE() << made.error().message();
      return 0;
    }
    return *made;
  }

  void roll_back(std::uint32_t to) {
    const auto done = context().rollback(to);
    EXPECT_TRUE(done) << done.error().message();
  }

  std::unique_ptr<Context> fork_from(std::uint32_t from) {
    auto made = context().fork_from(from);
    if (!made) {
      ADD_FAILURE() << made.error().message();
      return nullptr;
    }
    return std::move(made).value();
  }

  Execution recovering(const std::string& code, std::chrono::milliseconds wall = 20s) {
    return run(code, {.code = {}, .limits = {.wall = wall}, .recover = true});
  }

  // A variable and a file, changed together.
  void set(const std::string& value) { output_of("x = '" + value + "'; open('x', 'w').write(x)"); }
  std::string get() { return output_of("print(x, open('x').read())"); }
};

TEST_P(CheckpointsOfAContext, BringVariablesAndFilesBack) {
  set("before");
  const std::uint32_t point = checkpoint();
  EXPECT_EQ(get(), "before before") << "the checkpoint itself changed something";
  set("after");
  output_of("import os; os.mkdir('new'); open('new/file', 'w').close(); y = 1");
  roll_back(point);
  EXPECT_EQ(get(), "before before");
  EXPECT_EQ(output_of("import os; print(sorted(os.listdir('.')), 'y' in globals())"),
            "['x'] False");
}

TEST_P(CheckpointsOfAContext, CanBeGoneToMoreThanOnce) {
  set("before");
  const std::uint32_t point = checkpoint();
  for (int i = 0; i < 3; ++i) {
    set("after " + std::to_string(i));
    roll_back(point);
    EXPECT_EQ(get(), "before before") << i;
  }
}

TEST_P(CheckpointsOfAContext, CanBeGoneToInAnyOrder) {
  std::vector<std::uint32_t> points;
  for (const char* const value : {"0", "1", "2", "3"}) {
    set(value);
    points.push_back(checkpoint());
  }
  for (const std::size_t to : {1U, 3U, 0U, 2U, 2U, 0U, 3U}) {
    roll_back(points[to]);
    const std::string value = std::to_string(to);
    EXPECT_EQ(get(), value + " " + value);
    set("between");
  }
}

TEST_P(CheckpointsOfAContext, ContinueTheCountOfExecutions) {
  run("1");
  const std::uint32_t point = checkpoint();
  EXPECT_EQ(run("2").execution_count, 2);
  EXPECT_EQ(run("3").execution_count, 3);
  roll_back(point);
  EXPECT_EQ(run("4").execution_count, 2);
  EXPECT_EQ(output_of("print(_ih[1:2])"), "['1']");
}

TEST_P(CheckpointsOfAContext, AreThereAfterACrash) {
  for (const char* const end : {"import os; os._exit(1)", "import ctypes; ctypes.string_at(0)",
                                "import os; os.kill(os.getpid(), 9)"}) {
    set("before");
    const std::uint32_t point = checkpoint();
    set("after");
    run(end);
    EXPECT_FALSE(context().alive()) << end;
    roll_back(point);
    ASSERT_TRUE(context().alive());
    EXPECT_EQ(get(), "before before") << end;
  }
}

TEST_P(CheckpointsOfAContext, EndWhatWasStartedSince) {
  const std::uint32_t point = checkpoint();
  run("import subprocess; kept = subprocess.Popen(['sleep', '98765'])");
  roll_back(point);
  const std::string count =
      "import os\n"
      "def of(pid):\n"
      "    try: return open(f'/proc/{pid}/cmdline').read()\n"
      "    except OSError: return ''\n"
      "print(sum('98765' in of(pid) for pid in os.listdir('/proc') if pid.isdigit()))";
  EXPECT_TRUE(eventually([&] { return output_of(count) == "0"; }))
      << "a process lives on that was started after the checkpoint";
}

TEST_P(CheckpointsOfAContext, NameWhatCannotComeAlong) {
  run("import threading\nwaiting = threading.Event()\n"
      "threading.Thread(target=waiting.wait, name='the reader', daemon=True).start()\n"
      "log = open('log', 'w')\nread_only = open('/etc/passwd')");
  std::vector<std::string> not_carried;
  (void)checkpoint(&not_carried);
  EXPECT_THAT(not_carried, Contains(HasSubstr("the reader")));
  EXPECT_THAT(not_carried, Contains(HasSubstr("/workspace/log")));
  EXPECT_EQ(not_carried.size(), 2U);
}

TEST_P(CheckpointsOfAContext, OfAPlainContextNameNothing) {
  output_of("import os; print(os.listdir('.'))");
  std::vector<std::string> not_carried;
  (void)checkpoint(&not_carried);
  EXPECT_THAT(not_carried, IsEmpty());
}

TEST_P(CheckpointsOfAContext, RecoverFromASegmentationFault) {
  set("before");
  const Execution execution =
      recovering("x = 'lost'; open('x', 'w').write(x)\nimport ctypes; ctypes.string_at(0)");
  EXPECT_EQ(execution.status, Status::kSignaled);
  EXPECT_EQ(execution.signal, SIGSEGV);
  EXPECT_TRUE(execution.recovered);
  EXPECT_THAT(execution.notes, Contains(HasSubstr("were restored")));
  ASSERT_TRUE(context().alive());
  EXPECT_EQ(get(), "before before");
}

TEST_P(CheckpointsOfAContext, RecoverFromATimeoutThatIgnoresInterrupts) {
  set("before");
  const Execution execution =
      recovering("x = 'lost'\nimport itertools; sum(itertools.repeat(0))", 300ms);
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_TRUE(execution.recovered);
  EXPECT_EQ(get(), "before before");
}

TEST_P(CheckpointsOfAContext, RecoverFromOutOfMemory) {
  make_with({.memory = 256_MiB});
  set("before");
  const Execution execution =
      recovering("x = []\nwhile True: x.append(bytearray(b'x' * (8 << 20)))");
  EXPECT_EQ(execution.status, Status::kOutOfMemory);
  EXPECT_TRUE(execution.recovered);
  EXPECT_EQ(get(), "before before");
  EXPECT_EQ(recovering("x = 'again'; 1").status, Status::kOk);
}

TEST_P(CheckpointsOfAContext, RecoverNothingFromAnError) {
  set("before");
  const Execution execution = recovering("x = 'after'; 1 / 0");
  EXPECT_EQ(execution.status, Status::kError);
  EXPECT_FALSE(execution.recovered);
  EXPECT_EQ(get(), "after before");
}

TEST_P(CheckpointsOfAContext, RecoverAgainAndAgain) {
  set("before");
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(recovering("import os; os._exit(1)").recovered);
    EXPECT_EQ(get(), "before before");
  }
}

TEST_P(CheckpointsOfAContext, GiveAnIndependentContext) {
  set("shared");
  const std::uint32_t point = checkpoint();
  const std::unique_ptr<Context> other = fork_from(point);
  ASSERT_TRUE(other);
  EXPECT_EQ(output_of(*other, "print(x, open('x').read())"), "shared shared");
  output_of(*other, "x = 'theirs'; open('x', 'w').write(x)");
  EXPECT_EQ(get(), "shared shared");
  set("mine");
  EXPECT_EQ(output_of(*other, "print(x, open('x').read())"), "theirs theirs");
  const std::string where = "import os; print(os.getcwd())";
  EXPECT_NE(output_of(where), output_of(*other, where));
  EXPECT_EQ(run(*other, "import os; os._exit(0)").exit_code, 0);
  EXPECT_FALSE(other->alive());
  EXPECT_EQ(get(), "mine mine");
}

TEST_P(CheckpointsOfAContext, GiveContextsThatDrawNumbersOfTheirOwn) {
  output_of("import random; random.random()");
  const std::uint32_t point = checkpoint();
  const std::unique_ptr<Context> one = fork_from(point);
  const std::unique_ptr<Context> two = fork_from(point);
  ASSERT_TRUE(one && two);
  const std::string draw = "import os, random; print(random.random(), os.urandom(4))";
  const std::string first = output_of(*one, draw);
  EXPECT_NE(first, output_of(*two, draw));
  EXPECT_NE(first, output_of(draw));
}

TEST_P(CheckpointsOfAContext, GiveContextsThatObeyTheirLimits) {
  const std::uint32_t point = checkpoint();
  const std::unique_ptr<Context> other = fork_from(point);
  ASSERT_TRUE(other);
  const Execution slow = run(*other, "while True: pass", {.code = {}, .limits = {.wall = 300ms}});
  EXPECT_EQ(slow.status, Status::kTimeout);
  expect_well(*other);
  EXPECT_EQ(run(*other, "import ctypes; ctypes.string_at(0)").signal, SIGSEGV);
  EXPECT_FALSE(other->alive());
  expect_well(context());
}

TEST_P(CheckpointsOfAContext, AreForkedWhileOthersOfTheSandboxRunOutOfMemory) {
  make_with({.memory = 256_MiB, .disk = 128_MiB});
  set("before");
  // Enough files that copying them takes a while.
  output_of("import os\nfor i in range(15000):\n  open(f'f{i}', 'w').close()");
  output_of("import subprocess; bystander = subprocess.Popen(['sleep', '600'])");
  const std::uint32_t point = checkpoint();
  const std::unique_ptr<Context> noisy = start(GetParam(), context().sandbox());
  ASSERT_TRUE(noisy);
  std::atomic<bool> forked = false;
  std::thread noise([&] {
    while (!forked && noisy->alive()) {
      (void)run(*noisy,
                "import subprocess, sys\n"
                "subprocess.run([sys.executable, '-c', 'b = bytearray(1 << 30)'])");
    }
  });
  const std::unique_ptr<Context> other = fork_from(point);
  forked = true;
  noise.join();
  ASSERT_TRUE(other);
  EXPECT_EQ(output_of(*other, "print(x, open('x').read())"), "before before");
  EXPECT_EQ(output_of("print(bystander.poll())"), "None");
  EXPECT_TRUE(noisy->alive());
}

TEST_P(CheckpointsOfAContext, AreUnknownOnceDropped) {
  set("before");
  const std::uint32_t kept = checkpoint();
  const std::uint32_t point = checkpoint();
  EXPECT_TRUE(context().drop(point));
  EXPECT_FALSE(context().drop(point));
  EXPECT_EQ(context().rollback(point).error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(context().fork_from(point));
  EXPECT_TRUE(context().alive());
  set("after");
  roll_back(kept);
  EXPECT_EQ(get(), "before before");
}

TEST_P(CheckpointsOfAContext, AreFreedWhenTheyAreDropped) {
  expect_well(context());
  const auto count = [this] {
    return output_of("import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))");
  };
  const std::string before = count();
  const std::size_t descriptors = Traces::descriptors();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(context().drop(checkpoint()));
  }
  EXPECT_TRUE(eventually([&] { return count() == before; })) << count() << ", not " << before;
  EXPECT_EQ(Traces::descriptors(), descriptors);
}

TEST_P(CheckpointsOfAContext, LeaveNothing) {
  (void)make(GetParam());  // The zygote stays, and what is found out once in a process.
  const Traces before = Traces::look();
  make_with({});
  set("before");
  const std::uint32_t point = checkpoint();
  std::unique_ptr<Context> other = fork_from(point);
  (void)checkpoint();
  roll_back(point);
  other.reset();
  end_context();
  EXPECT_THAT(Traces::left_since(before), IsEmpty());
}

TEST_P(CheckpointsOfAContext, ThatAGuestForgesAreRefused) {
  // The guest answers in its agent's place, with descriptors of its own choice or with none.
  for (const char* const passed :
       {"[]", "[os.open('/dev/null', 0)]", "[os.pidfd_open(os.getpid())]",
        "[os.pidfd_open(os.getpid()), os.open('/dev/null', 0)]",
        "[os.pidfd_open(os.getpid()), socket.socketpair()[0].detach()]"}) {
    make_with({});
    set("before");
    const Execution forged =
        run(std::string(kFindChannel) +
            "import array, threading\n"
            "def forge():\n"
            "    files = array.array('i', " +
            passed +
            ")\n"
            "    while True:\n"
            "        for number in range(1, 9):\n"
            "            channel.sendmsg([frame(74, number, b'{\"threads\":[7],\"files\":{}}')],\n"
            "                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files.tobytes())] if files "
            "else [])\n"
            "        time.sleep(0.001)\n"
            "threading.Thread(target=forge, daemon=True).start()\n");
    // An agent that answers before it was asked is ended, which may be at once.
    EXPECT_THAT(forged.status, ::testing::AnyOf(Status::kOk, Status::kSignaled));
    const auto start = std::chrono::steady_clock::now();
    if (const auto made = context().checkpoint(); made) {
      (void)context().rollback(*made);
      if (context().alive()) {
        (void)context().execute({.code = "1", .limits = {.wall = 2s}});
      }
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 40s) << passed;
  }
}

// Whether this kernel makes huge pages of memory at our word (MADV_COLLAPSE, Linux 6.1).
bool collapses_memory() {
  constexpr std::size_t kHuge = 2UL << 20;
  constexpr int kCollapse = 25;
  void* const memory = ::mmap(nullptr, 2 * kHuge, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    return false;
  }
  const std::uintptr_t first =
      (reinterpret_cast<std::uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): within what was mapped.
  const bool collapsed = ::madvise(reinterpret_cast<void*>(first), kHuge, kCollapse) == 0;
  (void)::munmap(memory, 2 * kHuge);
  return collapsed;
}

constexpr const char* kHugeMemory = R"(
def huge_memory():
    return sum(int(line.split()[1]) for line in open('/proc/self/smaps_rollup')
               if line.startswith('AnonHugePages:')) >> 10
def used_memory():
    return sum(int(line.split()[1]) for line in open('/proc/self/smaps_rollup')
               if line.startswith('Rss:')) >> 10
)";

class PagesOfForks : public ForkedContexts {};

// numpy brings a libstdc++ of its own; ours must work beside it.
TEST_P(PagesOfForks, StartHuge) {
  if (!collapses_memory()) {
    GTEST_SKIP() << "this kernel has no MADV_COLLAPSE";
  }
  output_of(kHugeMemory);
  // Those that nothing was written to since the fork.
  EXPECT_EQ(output_of("import sys; print('numpy' in sys.modules, huge_memory() > 0)"), "True True");
}

TEST_P(CheckpointsOfAContext, PutLargeDataIntoHugePagesAndNothingElse) {
  if (!collapses_memory()) {
    GTEST_SKIP() << "this kernel has no MADV_COLLAPSE";
  }
  output_of(kHugeMemory);
  // One page in 512 of the second is used, and no more shall be.
  output_of(R"(
import mmap, os
data = bytearray(os.urandom(1 << 20)) * 64
sparse = mmap.mmap(-1, 128 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(sparse), 2 << 20):
    sparse[at] = 7
expected = hash(bytes(data[-4096:]))
huge, used = huge_memory(), used_memory())");
  checkpoint();
  output_of("data[0] = 1");
  const std::uint32_t second = checkpoint();
  EXPECT_EQ(output_of("print(huge_memory() - huge >= 56, used_memory() - used <= 8)"), "True True");
  output_of("data[0] = 2; data[-1] = 0; sparse[0] = 9");
  roll_back(second);
  EXPECT_EQ(output_of("print(data[0], hash(bytes(data[-4096:])) == expected, sparse[0])"),
            "1 True 7");
}

INSTANTIATE_TEST_SUITE_P(Ways,
                         CheckpointsOfAContext,
                         testing::ValuesIn(ways_that(true)),
                         [](const auto& way) { return way.param.name; });

GB_FOR_FORKS(PagesOfForks);

class ContextsWithoutCheckpoints : public Contexts {};

TEST_P(ContextsWithoutCheckpoints, SaySo) {
  EXPECT_FALSE(context().can("checkpoint"));
  const auto made = context().checkpoint();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported);
  EXPECT_FALSE(context().execute({.code = "1", .recover = true}));
  expect_well(context());
}

// Without a pid namespace a guest could name any process of the host as its copy, and where no
// descriptors are passed it can name none.
INSTANTIATE_TEST_SUITE_P(Ways,
                         ContextsWithoutCheckpoints,
                         testing::ValuesIn(ways_that(false)),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace glovebox::conformance
