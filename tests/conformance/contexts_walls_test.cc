// SPDX-License-Identifier: Apache-2.0
// Walls of a forked context: those of any guest, and none of its zygote's.
#include <unistd.h>

#include <map>
#include <sstream>

#include "contexts_fixture.h"
#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class WallsOfAContext : public Contexts {
 protected:
  Live other() { return make(GetParam()); }
};

// What a Python expression is in two forks of one zygote.
struct Pair {
  std::string one;
  std::string two;
};

TEST_P(WallsOfAContext, NoTwoDrawTheSameNumbers) {
  const Live second = other();
  ASSERT_TRUE(second.context);
  for (const char* const expression :
       {"__import__('random').random()", "__import__('uuid').uuid4()", "__import__('uuid').uuid1()",
        "__import__('os').urandom(8).hex()", "__import__('secrets').token_hex(8)",
        "__import__('tempfile').mktemp()", "__import__('tempfile').NamedTemporaryFile().name",
        "__import__('ssl').RAND_bytes(8).hex()",
        "bytes(__import__('multiprocessing').current_process().authkey).hex()"}) {
    const std::string code = std::string("print(") + expression + ")";
    const Pair drawn{output_of(code), output_of(*second.context, code)};
    EXPECT_THAT(drawn.one, Not(IsEmpty())) << expression;
    EXPECT_NE(drawn.one, drawn.two) << expression;
  }
}

TEST_P(WallsOfAContext, NumpyDrawsNoNumbersTwice) {
  if (output_of("import importlib.util as u; print(u.find_spec('numpy') is None)") == "True") {
    GTEST_SKIP() << "python3-numpy is not installed";
  }
  const Live second = other();
  ASSERT_TRUE(second.context);
  for (const char* const code : {"import numpy; print(numpy.random.random())",
                                 "import numpy; print(numpy.random.default_rng().random())",
                                 "import numpy; print(numpy.random.RandomState().random_sample())",
                                 "from numpy.random import randint; print(randint(0, 1 << 62))"}) {
    EXPECT_NE(output_of(code), output_of(*second.context, code)) << code;
  }
}

TEST_P(WallsOfAContext, StandAsItSeesThem) {
  std::istringstream lines(output_of("print(open('/proc/self/status').read())"));
  std::map<std::string, std::string> status;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(":\t");
    if (colon != std::string::npos) {
      status[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  const std::string none(16, '0');
  for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"}) {
    EXPECT_EQ(status[set], none) << set;
  }
  EXPECT_EQ(status["NoNewPrivs"], "1");
  EXPECT_EQ(status["Seccomp"], "2");
  EXPECT_THAT(status["Uid"], Not(testing::StartsWith("0\t")));
  EXPECT_EQ(status["Groups"].find_first_not_of(" 0123456789"), std::string::npos);
  EXPECT_EQ(status["Umask"], "0022");
  EXPECT_EQ(output_of("import os; print(os.getuid() == os.geteuid(), os.getresgid()[0] > 0)"),
            "True True");
}

TEST_P(WallsOfAContext, AreThoseOfARunInTheSameSandbox) {
  const char* const kShow =
      "import os\n"
      "for name in sorted(os.listdir('/proc/self/ns')):\n"
      "    print(os.readlink('/proc/self/ns/' + name))\n"
      "print(open('/proc/self/cgroup').read())\n"
      "print(os.getresuid(), os.getresgid(), os.getgroups())\n"
      "import resource\n"
      "print(resource.getrlimit(resource.RLIMIT_NOFILE), "
      "resource.getrlimit(resource.RLIMIT_CORE))\n"
      "print(sorted(os.listdir('/')), os.uname().nodename)\n"
      "print(open('/proc/self/mountinfo').read())\n";
  const std::string inside = output_of(kShow);
  auto beside = context().sandbox().run({.argv = {"python3", "-c", kShow}, .env = {}, .cwd = {}},
                                        {.limits = {}, .kill_rest = false});
  ASSERT_TRUE(beside);
  ASSERT_EQ(beside->status, Status::kOk) << beside->err.bytes;
  EXPECT_EQ(inside + "\n", beside->out.bytes);
  const Live second = other();
  ASSERT_TRUE(second.context);
  EXPECT_NE(output_of(*second.context, kShow), inside) << "two sandboxes are one";
}

TEST_P(WallsOfAContext, CountItInItsCgroup) {
  const std::uint64_t charged = context().sandbox().cgroup().memory_peak().value_or(Bytes{0}).count;
  output_of("kept = bytearray(100 << 20)");
  const auto used = context().sandbox().cgroup().memory_peak();
  if (!used) {
    GTEST_SKIP() << "memory is not limited here";
  }
  EXPECT_GE(used->count, charged + (90U << 20));
}

TEST_P(WallsOfAContext, ShowItNeitherZygoteNorOtherContexts) {
  const Live second = other();
  ASSERT_TRUE(second.context);
  output_of(*second.context, "secret = 'of the other'; open('secret', 'w').write(secret)");
  // Its own processes and the warden, which no guest may touch.
  const std::string processes = output_of(
      "import os\n"
      "for pid in sorted(filter(str.isdigit, os.listdir('/proc')), key=int):\n"
      "    try: print(pid, open(f'/proc/{pid}/cmdline').read().replace('\\0', ' ').strip())\n"
      "    except OSError as error: print(pid, error.strerror)");
  std::istringstream lines(processes);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    ++count;
  }
  EXPECT_LE(count, 2) << processes;
  EXPECT_EQ(output_of("import os; print(os.path.exists('secret'), os.listdir('/tmp'))"),
            "False []");
}

TEST_P(WallsOfAContext, LetItTouchNoProcessButItsOwn) {
  const Live second = other();
  ASSERT_TRUE(second.context);
  const std::string answers = output_of(
      "import ctypes, errno, os, signal\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "answers = []\n"
      "def attempt(pid, what, action):\n"
      "    try: answer = 'done' if action() != -1 else errno.errorcode[ctypes.get_errno()]\n"
      "    except OSError as error: answer = errno.errorcode[error.errno]\n"
      "    answers.append((pid, what, answer))\n"
      "for pid in range(1, 400):\n"
      "    if pid > 1: attempt(pid, 'signal', lambda: os.kill(pid, 0))\n"
      "    attempt(pid, 'memory', lambda: os.close(os.open(f'/proc/{pid}/mem', os.O_RDWR)))\n"
      "    attempt(pid, 'attach', lambda: libc.ptrace(16, pid, 0, 0))\n"
      "    attempt(pid, 'seize', lambda: libc.ptrace(0x4206, pid, 0, 0))\n"
      "    attempt(pid, 'root', lambda: len(os.listdir(f'/proc/{pid}/root/')))\n"
      "    attempt(pid, 'descriptors', lambda: len(os.listdir(f'/proc/{pid}/fd')))\n"
      "    attempt(pid, 'read', lambda: libc.process_vm_readv(pid, None, 0, None, 0, 0))\n"
      "mine = set(map(int, os.listdir('/proc/self/task')))\n"
      "for pid, what, answer in answers:\n"
      "    if pid not in mine: print(pid, what, answer)\n");
  EXPECT_THAT(answers, Not(HasSubstr("done")));
  EXPECT_THAT(answers, HasSubstr("399 signal ESRCH"));
  expect_well(*second.context);
  EXPECT_FALSE(zygote_has_died());
}

TEST_P(WallsOfAContext, LeaveItNoDescriptorThatLeadsOut) {
  const std::string odd = output_of(
      "import fcntl, os, stat\n"
      "channels = 0\n"
      "for name in sorted(os.listdir('/proc/self/fd'), key=int):\n"
      "    fd = int(name)\n"
      "    try: target = os.readlink(f'/proc/self/fd/{fd}')\n"
      "    except FileNotFoundError: continue  # That of the list itself.\n"
      "    kind = os.fstat(fd).st_mode\n"
      "    mode = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE\n"
      "    if fd == 0 and target == '/dev/null': continue\n"
      "    if fd in (1, 2) and stat.S_ISFIFO(kind): continue\n"
      "    if stat.S_ISSOCK(kind) and not channels: channels = 1; continue\n"
      "    if stat.S_ISREG(kind) and mode == os.O_RDONLY and target.startswith('/usr/'): continue\n"
      "    print(fd, target, oct(kind), mode)\n");
  EXPECT_THAT(odd, IsEmpty());
  // A descriptor on another's mount would lead out of this one by "..".
  EXPECT_EQ(
      output_of("import os\n"
                "for name in os.listdir('/proc/self/fd'):\n"
                "    try: os.close(os.open('..', os.O_RDONLY, dir_fd=int(name))); print(name)\n"
                "    except (NotADirectoryError, OSError): pass\n"),
      "");
}

TEST_P(WallsOfAContext, DoNotLetItWriteIntoAnInheritedLibrary) {
  EXPECT_EQ(
      output_of("import os, stat\n"
                "for name in os.listdir('/proc/self/fd'):\n"
                "    try:\n"
                "        if stat.S_ISREG(os.fstat(int(name)).st_mode):\n"
                "            for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC):\n"
                "                os.close(os.open(f'/proc/self/fd/{name}', flags)); print(name)\n"
                "    except OSError: pass\n"
                "for path in ('/usr/bin/python3', '/opt/glovebox/agents/python/agent.py'):\n"
                "    try: os.close(os.open(path, os.O_WRONLY)); print(path)\n"
                "    except OSError: pass\n"),
      "");
}

TEST_P(WallsOfAContext, HideTheRealmsFilesFromIt) {
  const std::string seen = output_of(
      "import os\n"
      "print(os.uname().nodename)\n"
      "print(open('/proc/self/environ').read())\n"
      "for path in ('/workspace', '/tmp', '/dev/shm', '/run'):\n"
      "    print(path, os.listdir(path) if os.path.isdir(path) else [])\n");
  EXPECT_THAT(seen, Not(HasSubstr("zygote")));
  EXPECT_THAT(seen, HasSubstr("/workspace []"));
  EXPECT_THAT(seen, HasSubstr("/tmp []"));
}

TEST_P(WallsOfAContext, GiveItAnEmptyPastOfItsZygote) {
  const Live second = other();
  ASSERT_TRUE(second.context);
  output_of("import builtins, sys; builtins.mark = sys.mark = 1; sys.path.append('/mark')");
  EXPECT_EQ(
      output_of(*second.context,
                "import builtins, sys\n"
                "print(hasattr(builtins, 'mark'), hasattr(sys, 'mark'), '/mark' in sys.path)"),
      "False False False");
  const Live third = other();
  ASSERT_TRUE(third.context);
  EXPECT_EQ(
      output_of(*third.context, "import builtins; print(hasattr(builtins, 'mark'), len(_ih), _oh)"),
      "False 2 {}");
}

GB_FOR_FORKS(WallsOfAContext);

}  // namespace
}  // namespace glovebox::conformance
