// SPDX-License-Identifier: Apache-2.0
// Guests that are root inside, and the file system that they may change.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "fixture.h"
#include "sandbox/foreign_root.h"
#include "sandbox/id_range.h"
#include "sandbox/policy/capabilities.h"
#include "small_root.h"

namespace glovebox::conformance {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class RootGuest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Sandbox::create({}, {.exactly = "native", .at_least = {}})) {
      GTEST_SKIP() << "the tier native does not work here";
    }
  }

  static std::unique_ptr<Sandbox> make(SandboxSpec spec = {}) {
    spec.as_root = true;
    auto made = Sandbox::create(spec, {.exactly = "native", .at_least = {}});
    EXPECT_TRUE(made) << made.error().message();
    return made ? std::move(made).value() : nullptr;
  }

  static RunOutcome run(Sandbox& sandbox, const std::string& script, bool strict = false) {
    auto outcome = sandbox.run({.argv = {"/bin/bash", "-c", script}, .env = {}, .cwd = {}},
                               {.limits = sandbox.limits(), .strict = strict});
    EXPECT_TRUE(outcome) << outcome.error().message();
    return outcome ? std::move(outcome).value() : RunOutcome{};
  }

  static std::string said(Sandbox& sandbox, const std::string& script) {
    const RunOutcome outcome = run(sandbox, script);
    return outcome.out.bytes + outcome.err.bytes;
  }

  std::string said(const std::string& script) {
    if (!sandbox_) {
      sandbox_ = make();
    }
    return sandbox_ ? said(*sandbox_, script) : "no sandbox";
  }

  // Whether it has ids for other users, and so owns the files of /usr that it sees.
  static bool has_range() { return ::geteuid() == 0; }

  std::unique_ptr<Sandbox> sandbox_;
};

TEST_F(RootGuest, IsRootInsideAndNobodyOutside) {
  EXPECT_EQ(said("id -u; id -g; id -un; echo $HOME $USER; pwd"),
            "0\n0\nroot\n/root root\n/workspace\n");
  const Walls& walls = sandbox_->walls();
  EXPECT_EQ(walls.user, "root");
  EXPECT_EQ(walls.uid, "mapped");
  EXPECT_TRUE(walls.user_ns);
  EXPECT_THAT(walls.landlock, testing::Gt(0));
  EXPECT_EQ(walls.seccomp, "default");
  EXPECT_FALSE(walls.no_new_privs);
}

TEST_F(RootGuest, HasARangeOfIdsThatNoOtherHas) {
  const std::unique_ptr<Sandbox> other = make();
  const std::string here = said("cat /proc/self/uid_map");
  const std::string there = said(*other, "cat /proc/self/uid_map");
  if (!has_range()) {
    EXPECT_THAT(here, HasSubstr(std::to_string(::geteuid())));
    EXPECT_THAT(sandbox_->notes(), testing::Contains(HasSubstr("root is the only user here")));
    return;
  }
  EXPECT_THAT(here, HasSubstr(std::to_string(IdRange::kSize)));
  EXPECT_NE(here, there);
  EXPECT_EQ(said("cat /proc/self/gid_map"), here);
}

TEST_F(RootGuest, KeepsTheCapabilitiesOfTheTableAndNoOthers) {
  std::uint64_t expected = 0;
  std::vector<std::string> names;
  for (const policy::Capability& capability : policy::kRootCapabilities) {
    expected |= 1ULL << capability.number;
    names.emplace_back(capability.name);
  }
  for (const char* const set : {"CapPrm", "CapEff", "CapBnd"}) {
    const std::string line = said(std::string("grep ") + set + " /proc/self/status");
    EXPECT_EQ(std::stoull(line.substr(line.find('\t') + 1), nullptr, 16), expected) << set;
  }
  EXPECT_THAT(said("grep -E 'Cap(Inh|Amb)' /proc/self/status"), Not(HasSubstr("1")));
  EXPECT_EQ(sandbox_->walls().capabilities, names);
}

TEST_F(RootGuest, MakesNoMountsNamespacesAndDevices) {
  for (const char* const command :
       {"mount -t tmpfs none /mnt", "unshare -U true", "unshare -m true", "mknod /tmp/null c 1 3",
        "umount -l /proc/1", "nsenter -t 1 -m true"}) {
    EXPECT_EQ(said(std::string(command) + " 2>/dev/null && echo done"), "") << command;
  }
}

TEST_F(RootGuest, MayChangeRootButIsUnderTheStrictPolicyWhereThatIsAsked) {
  EXPECT_EQ(said("chroot / /bin/echo inside"), "inside\n");
  EXPECT_THAT(run(*sandbox_, "chroot / /bin/echo inside", true).out.bytes, IsEmpty());
}

TEST_F(RootGuest, WritesItsSystemAndLeavesTheHostsAsItIs) {
  struct stat before {};
  ASSERT_EQ(::stat("/usr/bin/env", &before), 0);
  EXPECT_EQ(said("echo x >/etc/mine && cat /etc/mine; mkdir /data /opt/mine && echo made; "
                 "echo 'a:x:5:5::/:/bin/sh' >>/etc/passwd && tail -1 /etc/passwd"),
            "x\nmade\na:x:5:5::/:/bin/sh\n");
  if (has_range()) {
    EXPECT_EQ(said("echo '#!/bin/sh' >/usr/bin/env; cat /usr/bin/env; rm /usr/bin/yes; "
                   "test -e /usr/bin/yes || echo gone; chown 5:5 /usr/bin/id && "
                   "stat -c %u /usr/bin/id"),
              "#!/bin/sh\ngone\n5\n");
  } else {
    EXPECT_THAT(said("touch /usr/bin/mine"), HasSubstr("Read-only"));
  }
  struct stat after {};
  ASSERT_EQ(::stat("/usr/bin/env", &after), 0);
  EXPECT_EQ(before.st_size, after.st_size);
  EXPECT_EQ(before.st_mtime, after.st_mtime);
  EXPECT_FALSE(fs::exists("/data"));
  EXPECT_FALSE(fs::exists("/etc/mine"));
}

TEST_F(RootGuest, WritesNoMoreThanItsDiskHolds) {
  SandboxSpec spec;
  spec.limits.disk = 8_MiB;
  const auto small = make(spec);
  const RunOutcome outcome = run(*small, "head -c 20M /dev/zero >/etc/large");
  EXPECT_EQ(outcome.status, Status::kDiskFull);
  EXPECT_THAT(outcome.err.bytes, HasSubstr("No space"));
}

TEST_F(RootGuest, SeesNothingThatOnlyTheHostsRootMayRead) {
  EXPECT_THAT(said("cat /etc/shadow"), Not(HasSubstr("$")));
  EXPECT_EQ(said("ls -A /root"), "");
  if (!has_range()) {
    return;
  }
  const std::string path = "/usr/local/share/gb-conformance-" + std::to_string(::getpid());
  {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    ASSERT_EQ(::write(file.get(), "secret", 6), 6);
  }
  const auto late = make();
  EXPECT_THAT(said(*late, "cat " + path + "; chmod 644 " + path + "; cat " + path),
              Not(HasSubstr("secret")));
  (void)::unlink(path.c_str());
}

TEST_F(RootGuest, BecomesOtherUsersAndBackBySetUserIdPrograms) {
  if (!has_range()) {
    EXPECT_THAT(said("setpriv --reuid 1000 id"), Not(HasSubstr("uid=1000")));
    return;
  }
  EXPECT_THAT(said("setpriv --reuid 65534 --regid 65534 --clear-groups id"),
              StartsWith("uid=65534(nobody) gid=65534(nogroup)"));
  EXPECT_THAT(said("cp /usr/bin/id /opt/id && chmod 4755 /opt/id && "
                   "setpriv --reuid 1000 --regid 1000 --clear-groups /opt/id"),
              HasSubstr("euid=0(root)"));
  EXPECT_THAT(said("setpriv --reuid 1000 --regid 1000 --clear-groups cat /etc/shadow"),
              HasSubstr("Permission denied"));
}

TEST_F(RootGuest, DoesNotReachItsWarden) {
  EXPECT_EQ(said("kill -9 1; kill -STOP 1; ls -A /proc/1; echo alive"), "alive\n");
  EXPECT_EQ(said("echo still"), "still\n");
}

TEST_F(RootGuest, EndsWithEveryUsersProcesses) {
  if (!has_range()) {
    GTEST_SKIP() << "an ordinary user has no other ids to give";
  }
  const RunOutcome outcome = run(
      *make(), "setpriv --reuid 7 --regid 7 --clear-groups setsid sleep 1000 >/dev/null 2>&1 &");
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_EQ(
      said("setpriv --reuid 7 --regid 7 --clear-groups sleep 1000 & kill $!; wait $!; echo $?"),
      "143\n");
}

TEST_F(RootGuest, GivesItsRangeBack) {
  if (!has_range()) {
    GTEST_SKIP() << "an ordinary user has no other ids to give";
  }
  const std::string map = said("cat /proc/self/uid_map");
  std::istringstream words(map);
  std::string inside;
  std::string first;
  words >> inside >> first;
  const std::string lock = "/run/glovebox/.ids/" + first;
  EXPECT_TRUE(fs::exists(lock));
  sandbox_.reset();
  EXPECT_FALSE(fs::exists(lock));
}

TEST_F(RootGuest, PacksAndUnpacksAsRoot) {
  if (!sandbox_) {
    sandbox_ = make();
  }
  ASSERT_TRUE(sandbox_->mark());
  EXPECT_EQ(said("mkdir sub && echo x >sub/file && chmod 4755 sub/file"), "");
  std::string archive;
  const auto packed = sandbox_->pack_changes(1_MiB, [&archive](std::string_view piece) {
    archive += piece;
    return Result<void>();
  });
  ASSERT_TRUE(packed) << packed.error().message();
  EXPECT_THAT(archive, HasSubstr("sub/file"));
  const UniqueFd file = file_with(archive);
  const auto unpacked = sandbox_->unpack("again", file.get());
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  EXPECT_EQ(said("cat again/sub/file; stat -c %u again/sub/file"), "x\n0\n");
}

TEST_F(RootGuest, IsRefusedWhereThereIsNoUserNamespace) {
  const auto made = Sandbox::create({.limits = {}, .env = {}, .mounts = {}, .as_root = true},
                                    {.exactly = "landlock", .at_least = {}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("landlock"));
}

std::vector<std::string> told(const Sandbox::Changes& changes) {
  std::vector<std::string> lines;
  for (const FileChange& file : changes.files) {
    lines.push_back(std::string(to_string(file.kind)) + " " + file.path);
  }
  return lines;
}

TEST_F(RootGuest, IsToldOfWhatItHasChangedInItsRoot) {
  const auto sandbox = make();
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(sandbox->mark());
  auto changes = sandbox->changed_files();
  ASSERT_TRUE(changes);
  EXPECT_THAT(told(*changes), IsEmpty());
  EXPECT_EQ(
      said(*sandbox,
           "echo more >>/etc/hosts; rm /etc/services; echo new >/etc/new; mkdir -m 0 /opt/in; "
           "echo x >'/opt/in/a file'; ln -s /x /srv/link; echo t >/tmp/t; echo w >w; "
           "touch /usr/local/lib/module; mkfifo /var/fifo; mkdir /top; echo y >/top/y"),
      "");
  changes = sandbox->changed_files();
  ASSERT_TRUE(changes);
  EXPECT_FALSE(changes->truncated);
  const std::vector<std::string> everywhere = {
      "created w",      "modified /etc/hosts",    "created /etc/new",
      "created /top/y", "created /opt/in/a file", "created /usr/local/lib/module"};
  std::vector<std::string> expected = everywhere;
  if (::access("/etc/services", R_OK) == 0) {
    expected.emplace_back("deleted /etc/services");
  }
  EXPECT_THAT(told(*changes), testing::UnorderedElementsAreArray(expected));
  // From now on.
  ASSERT_TRUE(sandbox->mark());
  EXPECT_EQ(said(*sandbox, "echo again >>/etc/new; rm /top/y"), "");
  EXPECT_THAT(told(*sandbox->changed_files()), testing::ElementsAre("modified /etc/new"));
}

TEST_F(RootGuest, IsToldOfWhatItHasDeletedOfTheSystem) {
  if (!has_range()) {
    GTEST_SKIP() << "only root's guests can change the host's /usr";
  }
  const auto sandbox = make();
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(sandbox->mark());
  EXPECT_EQ(said(*sandbox,
                 "rm /usr/bin/tac; mv /usr/bin/wc /usr/bin/wc2; echo x >>/usr/bin/sort; "
                 "rm -r /usr/share/common-licenses; mkdir /usr/share/common-licenses; "
                 "echo y >/usr/share/common-licenses/own"),
            "");
  const auto changes = sandbox->changed_files();
  ASSERT_TRUE(changes);
  EXPECT_THAT(told(*changes), testing::ElementsAre("modified /usr/bin/sort", "deleted /usr/bin/tac",
                                                   "deleted /usr/bin/wc", "created /usr/bin/wc2",
                                                   "deleted /usr/share/common-licenses",
                                                   "created /usr/share/common-licenses/own"));
}

TEST_F(RootGuest, CannotReachItsLayersByADescriptorOfTheWarden) {
  EXPECT_THAT(said("ls -l /proc/self/fd /proc/*/fd 2>/dev/null; ls /run/layers"),
              Not(HasSubstr("layers")));
  EXPECT_EQ(said("ls -A /run/layers"), "");
}

TEST_F(RootGuest, WritesOverTheRootOfATemplateAndKeepsItsUsers) {
  const SmallRoot root;
  root.add_file("etc/passwd", "root:x:0:0:root:/root:/bin/bash\nservice:x:42:42::/:/bin/false\n");
  root.add_file("srv/mark", "of the template");
  const UniqueFd fd(::open(root.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(prepare_foreign_root(fd.get()));
  SandboxSpec spec;
  spec.root = root.path();
  const auto sandbox = make(spec);
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(sandbox->mark());
  EXPECT_EQ(said(*sandbox,
                 "cat /srv/mark; echo changed >/srv/mark; cat /srv/mark; "
                 "echo x >/usr/bin/new && echo x >/etc/new && echo written"),
            "of the templatechanged\nwritten\n");
  const auto changes = sandbox->changed_files();
  ASSERT_TRUE(changes);
  EXPECT_THAT(told(*changes),
              testing::UnorderedElementsAre("modified /srv/mark", "created /usr/bin/new",
                                            "created /etc/new"));
  EXPECT_THAT(said(*sandbox, "cat /etc/passwd"), HasSubstr("service:x:42:42"));
  EXPECT_THAT(said(*sandbox, "cat /etc/passwd"), HasSubstr("guest:x:1000:1000"));
  EXPECT_EQ(read_file(root.path() + "/srv/mark"), "of the template");
  EXPECT_FALSE(fs::exists(root.path() + "/usr/bin/new"));
}

}  // namespace
}  // namespace glovebox::conformance
