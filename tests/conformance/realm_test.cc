// SPDX-License-Identifier: Apache-2.0
// What a zygote can do that is an enemy: because its root brings another python3, or because a
// module that it preloads is one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/sys/tree.h"
#include "base/unique_fd.h"
#include "context/agent_files.h"
#include "contexts_fixture.h"
#include "fixture.h"
#include "hostile_zygote.h"
#include "sandbox/foreign_root.h"
#include "small_root.h"

namespace glovebox::conformance {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// As many births as were needed ten times over to be caught while it was possible.
constexpr int kBirths = 40;

class HostileRealm : public ForkedContexts {
 protected:
  // Sandboxes that are born while it hunts. They may be hurt, which is its right: they are its own.
  static Result<std::unique_ptr<Sandbox>> make_in(const Zygote& zygote, const std::string& root) {
    SandboxSpec spec;
    spec.root = root;
    spec.live = true;
    spec.within = &zygote.realm();
    spec.mounts = {agents_mount().value()};
    return Sandbox::create(spec, {.exactly = "native", .at_least = {}});
  }

  static void bear_sandboxes(const Zygote& zygote, const std::string& root) {
    int born = 0;
    for (int i = 0; i < kBirths; ++i) {
      born += make_in(zygote, root) ? 1 : 0;
      ASSERT_NE(::prctl(PR_GET_DUMPABLE), 1);
    }
    EXPECT_GT(born, kBirths / 2);
  }

  // What a sandbox of another tenant could have told us.
  std::string secret_ = std::string(kPreyHead) + kPreyTail;
};

class HostileRoot : public HostileRealm {
 protected:
  [[nodiscard]] std::unique_ptr<Zygote> start(const std::string& mode) const {
    fs::copy_file(GB_HOSTILE_ZYGOTE, root_.path() + "/usr/bin/python3",
                  fs::copy_options::overwrite_existing);
    const UniqueFd fd(::open(root_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(prepare_foreign_root(fd.get()));
    auto zygote = Zygote::start({.modules = {mode}, .env = {}, .root = root_.path()});
    EXPECT_TRUE(zygote) << zygote.error().message();
    return zygote ? std::move(zygote).value() : nullptr;
  }

  [[nodiscard]] std::unique_ptr<Sandbox> sandbox_in(const Zygote& zygote) const {
    auto sandbox = make_in(zygote, root_.path());
    EXPECT_TRUE(sandbox) << sandbox.error().message();
    return sandbox ? std::move(sandbox).value() : nullptr;
  }

  SmallRoot root_;
};

TEST_P(HostileRoot, ReadsNothingOfItsMakerAtABirth) {
  const auto zygote = start("hunt");
  ASSERT_TRUE(zygote);
  bear_sandboxes(*zygote, root_.path());
  const auto last = sandbox_in(*zygote);
  ASSERT_TRUE(last);
  const auto fork = Context::fork(*last, *zygote, {});
  ASSERT_FALSE(fork);
  // It has tried, and found nothing.
  EXPECT_THAT(fork.error().message(), HasSubstr(std::strerror(EUCLEAN)));
  EXPECT_EQ(secret_, std::string(kPreyHead) + kPreyTail);
}

TEST_P(HostileRoot, CannotPassItsMakerOffAsAFork) {
  const auto zygote = start("peer");
  ASSERT_TRUE(zygote);
  const auto sandbox = sandbox_in(*zygote);
  ASSERT_TRUE(sandbox);
  // Were it believed, the end of the context would be ours.
  const auto fork = Context::fork(*sandbox, *zygote, {});
  ASSERT_FALSE(fork);
  if (fork.error().message().find(std::strerror(ENODATA)) != std::string::npos) {
    GTEST_SKIP() << "this kernel gives no such descriptor";
  }
  EXPECT_FALSE(zygote->alive());
}

TEST_P(HostileRoot, CannotKeepItsMakerReading) {
  const auto zygote = start("flood");
  ASSERT_TRUE(zygote);
  const auto sandbox = sandbox_in(*zygote);
  ASSERT_TRUE(sandbox);
  EXPECT_FALSE(Context::fork(*sandbox, *zygote, {}));
  EXPECT_FALSE(zygote->alive());
}

GB_FOR_FORKS(HostileRoot);

// A module in a directory of its own, with the hunter beside it.
class HostilePreload : public HostileRealm {
 protected:
  void SetUp() override {
    HostileRealm::SetUp();
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
    fs::copy_file(GB_HOSTILE_ZYGOTE, directory_ + "/hunter");
    std::ofstream(directory_ + "/hostile.py") << R"py(
import mmap, os, struct
status = open('/proc/self/status').read()
file = os.memfd_create('hunt', 0)
os.ftruncate(file, 4096)
page = mmap.mmap(file, 4096)
if os.fork() == 0:
    os.execv(os.path.dirname(__file__) + '/hunter', ['hunter', 'hunt-for-ever', str(file)])
os.close(file)
def hunt():
    return struct.unpack('iii', page[:12])
)py";
  }
  void TearDown() override { (void)sys::remove_tree(directory_); }

  [[nodiscard]] std::unique_ptr<Zygote> start() const {
    auto zygote =
        Zygote::start({.modules = {"hostile"},
                       .env = {{"PYTHONPATH", std::string(kPlace)}},
                       .mounts = {{.source = directory_, .target = std::string(kPlace)}}});
    EXPECT_TRUE(zygote) << zygote.error().message();
    return zygote ? std::move(zygote).value() : nullptr;
  }

  // A context that was forked from it.
  [[nodiscard]] static Live fork_of(Zygote& zygote) {
    auto sandbox = make_in(zygote, {});
    EXPECT_TRUE(sandbox) << sandbox.error().message();
    if (!sandbox) {
      return {};
    }
    Live live{.sandbox = std::move(sandbox).value(), .context = nullptr};
    auto context = Context::fork(*live.sandbox, zygote, {});
    EXPECT_TRUE(context) << context.error().message();
    if (context) {
      live.context = std::move(context).value();
    }
    return live;
  }

  static constexpr std::string_view kPlace = "/opt/hostile";
  std::string directory_ = "/tmp/glovebox-hostile-XXXXXX";
};

TEST_P(HostilePreload, ReadsNothingOfItsMakerAtABirth) {
  const auto zygote = start();
  ASSERT_TRUE(zygote);
  bear_sandboxes(*zygote, {});
  // The hunter may stop a birth of its own sandboxes; some come through.
  const Live live = fork_of(*zygote);
  ASSERT_TRUE(live.context);
  EXPECT_EQ(output_of(*live.context, "import hostile; print(hostile.hunt()[0] > 0)"), "True");
  EXPECT_EQ(output_of(*live.context, "print(hostile.hunt()[2])"), "0");
  EXPECT_EQ(secret_, std::string(kPreyHead) + kPreyTail);
}

TEST_P(HostilePreload, HasNoCapability) {
  const auto zygote = start();
  ASSERT_TRUE(zygote);
  const Live live = fork_of(*zygote);
  ASSERT_TRUE(live.context);
  EXPECT_EQ(output_of(*live.context,
                      "import hostile\n"
                      "print({line.split()[1] for line in hostile.status.splitlines()"
                      " if line.startswith('Cap')})"),
            "{'0000000000000000'}");
}

TEST_P(HostilePreload, ThatEndsItsInterpreterIsToldAtOnce) {
  std::ofstream(directory_ + "/hostile.py") << "import os\nos._exit(3)\n";
  const auto zygote =
      Zygote::start({.modules = {"hostile"},
                     .env = {{"PYTHONPATH", std::string(kPlace)}},
                     .mounts = {{.source = directory_, .target = std::string(kPlace)}}});
  ASSERT_FALSE(zygote);
  // Not that it is not ready in time, which is what a wait to its end would say.
  EXPECT_THAT(zygote.error().message(), HasSubstr("has ended"));
}

TEST_P(HostilePreload, IsEndedForWhatTheKernelChargesToNobody) {
  // Replies that nobody reads, as attack 123; from a process of its own, so that there is a zygote.
  std::ofstream(directory_ + "/hostile.py") << R"py(
import os, resource, socket, struct, time
if os.fork() == 0:
    while not os.path.exists(os.path.dirname(__file__) + '/go'):
        time.sleep(0.01)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    ask = struct.pack('IHHII', 32, 18, 1, 1, 0) + struct.pack('BxHiII', 0, 0, 1, 0, 0)
    kept = []
    while len(kept) < 900:
        kept.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0))
        for _ in range(20):
            kept[-1].send(32 * ask)
    time.sleep(600)
)py";
  const auto zygote = start();
  ASSERT_TRUE(zygote);
  std::ofstream(directory_ + "/go") << "go";
  EXPECT_TRUE(eventually([&] { return zygote->end_hoarders() == Hoard::kSockets; },
                         std::chrono::seconds(60)));
  EXPECT_TRUE(eventually([&] { return !zygote->alive(); }));
}

GB_FOR_FORKS(HostilePreload);

class Births : public HostileRealm {
 protected:
  // Kills what we have made last, unless it is a sandbox already: it bears our name as long as it
  // is one of the processes that come before.
  static void kill_the_youngest() {
    std::ifstream load("/proc/loadavg");
    std::string word;
    pid_t youngest = 0;
    for (int i = 0; i < 4; ++i) {
      load >> word;
    }
    load >> youngest;
    std::ifstream comm("/proc/self/comm");
    std::string own;
    std::getline(comm, own);
    for (pid_t pid = youngest - 2; pid <= youngest; ++pid) {
      std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
      std::string text;
      std::getline(stat, text);
      const std::size_t end = text.rfind(") ");
      if (end != std::string::npos && text.contains("(" + own + ") ") &&
          std::atoi(text.c_str() + end + 4) == ::getpid()) {
        (void)::kill(pid, SIGKILL);
      }
    }
  }
};

TEST_P(Births, WhoseHelpersAreKilledLeaveNothingThatTheirRealmWaitsFor) {
  auto zygote = Zygote::start({.modules = {}, .env = {}});
  ASSERT_TRUE(zygote) << zygote.error().message();
  int born = 0;
  {
    const std::jthread killer([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        kill_the_youngest();
      }
    });
    for (int i = 0; i < 5 * kBirths; ++i) {
      born += make_in(*zygote.value(), {}) ? 1 : 0;
    }
  }
  EXPECT_LT(born, 5 * kBirths) << "none was killed";
  // A realm ends with the last of its processes, and those count until somebody has waited for
  // them.
  const auto begun = std::chrono::steady_clock::now();
  zygote.value().reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(9));
}

GB_FOR_FORKS(Births);

}  // namespace
}  // namespace glovebox::conformance
