// SPDX-License-Identifier: Apache-2.0
// Walls: what is said of them is what the guest, and the host, see of them.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "fixture.h"

namespace glovebox::conformance {
namespace {

namespace fs = std::filesystem;

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class WallsOf : public Conformance {
 protected:
  // The guest's /proc/self/status, or empty where it may not read it.
  std::map<std::string, std::string> status_inside() {
    return fields(sh("cat /proc/self/status").out.bytes);
  }

  static std::map<std::string, std::string> fields(const std::string& text) {
    std::map<std::string, std::string> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find(":\t");
      if (colon != std::string::npos) {
        found[line.substr(0, colon)] = line.substr(colon + 2);
      }
    }
    return found;
  }

  void expect_like_walls(std::map<std::string, std::string> status) {
    const Walls& walls = sandbox().walls();
    // Other kernels do not show all of it.
    if (status.contains("NoNewPrivs") || !features().own_kernel) {
      EXPECT_EQ(status["NoNewPrivs"], walls.no_new_privs ? "1" : "0");
    }
    EXPECT_EQ(status["Seccomp"], walls.seccomp == "none" ? "0" : "2");
    const std::string none(16, '0');
    for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
      if (status.contains(set) || !features().own_kernel) {
        EXPECT_EQ(status[set], none) << set;
      }
    }
    EXPECT_EQ(status["CapBnd"] == none, walls.no_capabilities);
  }

  // Namespace -> whether walls() says that the guest has its own.
  std::map<std::string, bool> namespaces() {
    const Walls& walls = sandbox().walls();
    return {{"user", walls.user_ns},    {"mnt", walls.mount_ns}, {"pid", walls.pid_ns},
            {"net", walls.net_ns},      {"ipc", walls.ipc_ns},   {"uts", walls.uts_ns},
            {"cgroup", walls.cgroup_ns}};
  }
};

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

// Directory -> inode of the cgroups of a process that a sandbox made.
std::map<std::string, ino_t> cgroups_of(pid_t pid) {
  std::istringstream lines(read_file("/proc/" + std::to_string(pid) + "/cgroup"));
  std::string name;
  for (std::string line; std::getline(lines, line) && name.empty();) {
    // Ours have our name, an engine's that of the container.
    const std::string last = line.substr(line.rfind('/') + 1);
    const bool container =
        last.size() == 64 && last.find_first_not_of("0123456789abcdef") == std::string::npos;
    const bool known = last.starts_with("glovebox-") || last.starts_with("libpod-") || container;
    name = known ? last : std::string();
  }
  std::map<std::string, ino_t> found;
  if (name.empty()) {
    return found;
  }
  std::error_code ignored;
  for (fs::recursive_directory_iterator at("/sys/fs/cgroup", ignored), end; at != end;
       at.increment(ignored)) {
    struct stat status {};
    if (at->path().filename() == name && ::stat(at->path().c_str(), &status) == 0) {
      found[at->path()] = status.st_ino;
    }
  }
  return found;
}

TEST_P(WallsOf, AreWhatTheGuestSeesOfItself) {
  const auto status = status_inside();
  if (status.empty()) {
    GTEST_SKIP() << GetParam() << " shows the guest no /proc/self/status";
  }
  expect_like_walls(status);
}

TEST_P(WallsOf, AreWhatTheHostSeesOfTheGuest) {
  if (features().own_kernel) {
    GTEST_SKIP() << "the host sees no process of a guest with its own kernel";
  }
  look_at_guest([this](pid_t guest) {
    const auto status = fields(read_file("/proc/" + std::to_string(guest) + "/status"));
    expect_like_walls(status);
    const std::string uid = status.at("Uid").substr(0, status.at("Uid").find('\t'));
    EXPECT_NE(uid, "0") << "the guest is root outside";
    if (::geteuid() == 0) {
      EXPECT_THAT(sandbox().walls().uid, "mapped");
      const std::string gid = status.at("Gid").substr(0, status.at("Gid").find('\t'));
      EXPECT_THAT(status.at("Groups"), AnyOf("", " ", gid + " ")) << "groups of the host";
    }
  });
}

TEST_P(WallsOf, StandWhateverTheTier) {
  const Walls& walls = sandbox().walls();
  EXPECT_TRUE(walls.no_new_privs);
  EXPECT_THAT(walls.seccomp, AnyOf("default", "strict"));
  if (::geteuid() == 0) {
    EXPECT_TRUE(walls.no_capabilities);
  }
  EXPECT_EQ(sandbox().tier(), tier_of(GetParam()));
  EXPECT_EQ(sandbox().id().size(), 12U);
  // What runs a kernel of its own may come after it.
  EXPECT_THAT(walls.kernel,
              StartsWith(output_of("printf '%s %s' \"$(uname -r)\" \"$(uname -v)\"")));
}

TEST_P(WallsOf, OfNamespacesAreThoseOfTheGuest) {
  if (features().own_kernel) {
    GTEST_SKIP() << "namespaces of another kernel say nothing";
  }
  std::map<std::string, std::string> inside;
  look_at_guest([&](pid_t guest) {
    for (const auto& [name, own] : namespaces()) {
      std::error_code error;
      const std::string seen =
          fs::read_symlink("/proc/" + std::to_string(guest) + "/ns/" + name, error);
      const std::string host = fs::read_symlink("/proc/self/ns/" + name);
      if (!error) {
        EXPECT_EQ(seen != host, own) << name;
        inside[name] = seen;
      }
    }
  });
  if (inside.empty()) {
    GTEST_SKIP() << "this user may not look at the namespaces of its own guest";
  }
}

TEST_P(WallsOf, MakeTheGuestNobodySpecial) {
  EXPECT_NE(output_of("id -u"), "0\n");
  EXPECT_NE(output_of("id -g"), "0\n");
  EXPECT_NE(sh("mount -t tmpfs none \"$TMPDIR\"").exit_code, 0);
  EXPECT_NE(sh("unshare -U true").exit_code, 0);
  EXPECT_NE(sh("chroot . /bin/true").exit_code, 0);
  EXPECT_NE(sh("mknod null c 1 3").exit_code, 0);
  EXPECT_NE(sh("chown 0 .").exit_code, 0);
}

TEST_P(WallsOf, LetTheGuestWriteNowhereElse) {
  EXPECT_EQ(output_of("for d in / /usr /usr/bin /etc /var /home /root /dev /proc /sys /run; do "
                      "(: >$d/gb-conformance) 2>/dev/null && echo $d; done; true"),
            "");
}

TEST_P(WallsOf, ShowTheGuestNoSecretsOfTheHost) {
  for (const char* const file :
       {"/etc/shadow", "/root", "/proc/1/environ", "/proc/kcore", "/proc/self/../1/root/etc/shadow",
        "/sys/kernel", "/run/systemd"}) {
    EXPECT_THAT(sh(std::string("cat ") + file + " || ls -A " + file + "/").out.bytes, IsEmpty())
        << file;
  }
}

TEST_P(WallsOf, GiveTheGuestNoDescriptorsButTheUsual) {
  if (features().own_kernel) {
    GTEST_SKIP() << "the host sees no descriptors of a guest with its own kernel";
  }
  bool seen = false;
  look_at_guest([&seen](pid_t guest) {
    std::error_code error;
    std::vector<std::string> names;
    for (const auto& entry :
         fs::directory_iterator("/proc/" + std::to_string(guest) + "/fd", error)) {
      names.push_back(entry.path().filename());
    }
    if (!error) {
      seen = true;
      std::ranges::sort(names);
      EXPECT_THAT(names, ElementsAre("0", "1", "2"));
    }
  });
  if (!seen) {
    GTEST_SKIP() << "this user may not look at the descriptors of its own guest";
  }
}

TEST_P(WallsOf, HideSandboxesFromEachOther) {
  const std::unique_ptr<Sandbox> other = make();
  ASSERT_TRUE(other);
  const auto there = other->run(
      {.argv =
           {"/bin/sh", "-c",
            "echo secret >secret; echo secret >\"$TMPDIR/secret\"; chmod -R a+rwX . \"$TMPDIR\"; "
            "echo \"$HOME\"; echo \"$TMPDIR\"; exec sleep 1000 >/dev/null 2>&1 &"},
       .env = {},
       .cwd = {}},
      {.limits = {}, .kill_rest = false});
  ASSERT_TRUE(there);
  std::istringstream directories(there->out.bytes);
  for (std::string directory; std::getline(directories, directory);) {
    EXPECT_NE(sh("cat " + directory + "/secret").exit_code, 0) << directory;
    EXPECT_NE(sh("echo x >>" + directory + "/secret && cat " + directory + "/secret | grep secret")
                  .exit_code,
              0)
        << directory;
  }
  const std::vector<pid_t> theirs = guests();
  EXPECT_TRUE(theirs.size() == 1U || features().own_kernel);
  for (const pid_t pid : theirs) {
    const std::string number = std::to_string(pid);
    EXPECT_NE(sh("kill -0 " + number).exit_code, 0);
    EXPECT_THAT(sh("cat /proc/" + number + "/environ /proc/" + number + "/cmdline").out.bytes,
                Not(HasSubstr("sleep")));
  }
  const auto still = other->run({.argv = {"cat", "secret"}, .env = {}, .cwd = {}}, {});
  ASSERT_TRUE(still);
  EXPECT_EQ(still->out.bytes, "secret\n");
}

TEST_P(WallsOf, HideOurOwnProcessFromTheGuest) {
  const std::string number = std::to_string(::getpid());
  EXPECT_NE(sh("kill -0 " + number).exit_code, 0);
  EXPECT_THAT(sh("cat /proc/" + number + "/environ").out.bytes, IsEmpty());
}

TEST_P(WallsOf, LeaveNothingOnTheHost) {
  std::map<std::string, ino_t> cgroups;
  if (!features().own_kernel) {
    look_at_guest([&cgroups](pid_t guest) { cgroups = cgroups_of(guest); });
    EXPECT_EQ(cgroups.empty(), sandbox().walls().cgroup == "none");
  }
  const std::string home = output_of("echo here >witness; mkdir -m 0 d; echo -n \"$HOME\"");
  ASSERT_TRUE(sandbox().run(
      {.argv = {"/bin/sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 &"}, .env = {}, .cwd = {}},
      {.limits = {}, .kill_rest = false}));
  const auto ended = sandbox().end();
  EXPECT_TRUE(ended) << ended.error().message();

  EXPECT_TRUE(eventually([this] { return processes().empty(); })) << "a process";
  EXPECT_FALSE(fs::exists(home + "/witness")) << "the tree";
  for (const auto& [path, inode] : cgroups) {
    struct stat status {};
    EXPECT_FALSE(::stat(path.c_str(), &status) == 0 && status.st_ino == inode) << path;
  }
  EXPECT_THAT(read_file("/proc/self/mountinfo"), Not(HasSubstr(home))) << "a mount";
}

TEST_P(WallsOf, LeaveNoDescriptorsOfOurs) {
  ASSERT_TRUE(make());  // What is found out once in a process stays open.
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(output_of("echo x"), "x\n");
    end_sandbox();
  }
  EXPECT_EQ(open_descriptors(), before);
}

GB_FOR_EVERY_TIER(WallsOf);

}  // namespace
}  // namespace glovebox::conformance
