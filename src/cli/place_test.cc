// SPDX-License-Identifier: Apache-2.0
#include "cli/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace glovebox::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Files = std::map<std::string, std::string>;
using Environment = std::map<std::string, std::string>;

constexpr const char* kFree = "Name:\tglovebox\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n";
constexpr const char* kConfined =
    "Name:\tglovebox\nCapEff:\t00000000a80425fb\nCapBnd:\t00000000a80425fb\nSeccomp:\t2\n";
constexpr const char* kPlainMounts =
    "22 1 0:21 / /proc rw,nosuid - proc proc rw\n"
    "23 22 0:22 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n";
constexpr const char* kCoveredMounts =
    "22 1 0:21 / /proc rw,nosuid - proc proc rw\n"
    "24 22 0:23 / /proc/kcore rw,nosuid - tmpfs tmpfs rw,size=65536k\n";

// The files of a machine that is not there.
class PlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "gb-place.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Place find(const Files& files, const Environment& environment = {}, bool as_root = false) {
    for (const auto& [path, text] : files) {
      const std::filesystem::path file = root_ + path;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file) << text;
    }
    return find_place(
        root_,
        [&environment](const char* name) {
          const auto found = environment.find(name);
          return found == environment.end() ? nullptr : found->second.c_str();
        },
        as_root);
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

constexpr Lacks kNoNative = {.native = true};

// What stands in a default container of Docker.
Files docker() {
  return {{"/.dockerenv", ""},
          {"/proc/self/status", kConfined},
          {"/proc/self/mountinfo", kCoveredMounts}};
}

// The same of Podman.
Files podman() {
  Files files = docker();
  files.erase("/.dockerenv");
  files["/run/.containerenv"] = "";
  return files;
}

TEST_F(PlaceTest, OfAnOrdinaryUserNeedsNothingWhereNothingIsMissing) {
  const Place place = find({{"/proc/self/status", kFree}, {"/proc/self/mountinfo", kPlainMounts}});
  EXPECT_EQ(describe(place), "an ordinary machine, as an ordinary user");
  EXPECT_THAT(advice(place, {}), IsEmpty());
  EXPECT_THAT(advice(place, {.native = true, .cgroup = true, .landlock = true}), IsEmpty());
}

TEST_F(PlaceTest, InADefaultContainerOfDockerNamesEachFlag) {
  const Place place = find(docker(), {}, true);
  EXPECT_EQ(describe(place), "a Docker container, as root");
  EXPECT_EQ(advice(place, kNoNative),
            "for tier native, start the container with --security-opt seccomp=unconfined "
            "--security-opt systempaths=unconfined --cap-add SYS_ADMIN; as it is, run with "
            "--min-tier landlock (docs/containers.md)");
}

TEST_F(PlaceTest, OfAnOrdinaryUserInAContainerNeedsNoCapability) {
  EXPECT_THAT(advice(find(docker()), kNoNative),
              AllOf(HasSubstr("seccomp=unconfined"), Not(HasSubstr("SYS_ADMIN"))));
}

TEST_F(PlaceTest, NamesOnlyTheFlagsThatAreMissing) {
  Files files = docker();
  files["/proc/self/status"] = kFree;
  EXPECT_THAT(advice(find(files, {}, true), kNoNative),
              HasSubstr("start the container with --security-opt systempaths=unconfined; "));
  // A filter of somebody's own in Podman, which refuses also what CAP_SYS_ADMIN may do.
  files = podman();
  files["/proc/self/status"] = "CapEff:\t000001ffffffffff\nSeccomp:\t2\n";
  files["/proc/self/mountinfo"] = kPlainMounts;
  EXPECT_THAT(advice(find(files, {}, true), kNoNative),
              HasSubstr("start the container with --security-opt seccomp=unconfined; "));
}

TEST_F(PlaceTest, NamesTheProfileOfASecurityModuleWhereOneIsEnforced) {
  Files files = docker();
  files["/proc/self/attr/current"] = "docker-default (enforce)\n";
  EXPECT_THAT(advice(find(files), kNoNative), HasSubstr("--security-opt apparmor=unconfined"));
  files["/proc/self/attr/current"] = "system_u:system_r:container_t:s0:c1,c2";
  EXPECT_THAT(advice(find(files), kNoNative), HasSubstr("--security-opt label=disable"));
}

TEST_F(PlaceTest, InPodmanNamesItsOwnFlag) {
  const Place place = find(podman());
  EXPECT_EQ(describe(place), "a Podman container, as an ordinary user");
  EXPECT_THAT(advice(place, kNoNative),
              HasSubstr("with --security-opt seccomp=unconfined --security-opt unmask=ALL; "));
}

TEST_F(PlaceTest, WithSysAdminPodmansFilterMayStay) {
  EXPECT_THAT(advice(find(podman(), {}, true), kNoNative),
              HasSubstr("with --security-opt unmask=ALL --cap-add SYS_ADMIN; "));
  Files files = podman();
  files["/proc/self/status"] = "CapEff:\t0\nCapBnd:\t00000000a82425fb\nSeccomp:\t2\n";
  EXPECT_THAT(advice(find(files), kNoNative), HasSubstr("with --security-opt unmask=ALL; "));
}

TEST_F(PlaceTest, OfTheHostsRootInAContainerCanHaveTheHostsCgroups) {
  for (Files files : {docker(), podman()}) {
    files["/proc/self/uid_map"] = "         0          0 4294967295\n";
    EXPECT_THAT(advice(find(files, {}, true), {.cgroup = true}),
                HasSubstr("or add --volume /sys/fs/cgroup:/sys/fs/cgroup:rw (docs"));
    EXPECT_THAT(advice(find(files), {.cgroup = true}), Not(HasSubstr("--volume")));
    files["/sys/fs/cgroup/cgroup.controllers"] = "";
    EXPECT_THAT(advice(find(files, {}, true), {.cgroup = true}), HasSubstr(":rw --cgroupns host"));
    files["/proc/self/uid_map"] =
        "         0       1000          1\n         1     200000  65536\n";
    EXPECT_THAT(advice(find(files, {}, true), {.cgroup = true}),
                AllOf(HasSubstr("--memory and --pids-limit"), Not(HasSubstr("--volume"))));
    std::filesystem::remove_all(root());
  }
}

TEST_F(PlaceTest, InAnotherContainerNamesNoFlagsOfDocker) {
  const Place place = find({}, {{"container", "lxc"}}, true);
  EXPECT_EQ(describe(place), "a container (lxc), as root");
  EXPECT_EQ(advice(place, {.cgroup = true}),
            "no cgroup is writable here, so limit the container itself (docs/containers.md)");
}

TEST_F(PlaceTest, InAPodNamesFieldsOfItsSecurityContext) {
  Files files = docker();
  files.erase("/.dockerenv");
  const Place place = find(files, {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}, true);
  EXPECT_EQ(describe(place), "a Kubernetes pod, as root");
  EXPECT_THAT(advice(place, kNoNative),
              AllOf(HasSubstr("securityContext: seccompProfile: {type: Unconfined}"),
                    HasSubstr("procMount: Unmasked"), HasSubstr("add: [SYS_ADMIN]")));
  EXPECT_THAT(advice(place, {.cgroup = true}), HasSubstr("resources.limits"));
}

TEST_F(PlaceTest, InAContainerOfGithubNamesWhereTheFlagsGo) {
  const Place place = find(docker(), {{"GITHUB_ACTIONS", "true"}}, true);
  EXPECT_EQ(describe(place), "GitHub Actions, a Docker container, as root");
  EXPECT_THAT(advice(place, kNoNative),
              HasSubstr("'options:' of the job's container: --security-opt seccomp=unconfined"));
}

TEST_F(PlaceTest, OnARunnerOfGithubNamesTheStepThatAllowsNamespaces) {
  const Place place = find({{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"}},
                           {{"GITHUB_ACTIONS", "true"}});
  EXPECT_EQ(describe(place), "GitHub Actions, as an ordinary user");
  EXPECT_THAT(advice(place, kNoNative),
              HasSubstr("'run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'"));
}

TEST_F(PlaceTest, InAJobOfGitlabNamesTheRunnersSettings) {
  const Place docker_job = find(docker(), {{"GITLAB_CI", "true"}}, true);
  EXPECT_EQ(describe(docker_job), "GitLab CI, a Docker container, as root");
  EXPECT_THAT(advice(docker_job, kNoNative), HasSubstr("'privileged = true' in [runners.docker]"));
  const Place pod = find({}, {{"GITLAB_CI", "true"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}});
  EXPECT_THAT(advice(pod, kNoNative), HasSubstr("[runners.kubernetes]"));
}

TEST_F(PlaceTest, InWsl2NamesTheFileThatStartsSystemd) {
  const Place place =
      find({{"/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n"}});
  EXPECT_EQ(describe(place), "WSL 2, as an ordinary user");
  EXPECT_THAT(advice(place, {.cgroup = true}),
              AllOf(HasSubstr("/etc/wsl.conf"), HasSubstr("Delegate=yes")));
  EXPECT_THAT(advice(place, {.landlock = true}), HasSubstr("wsl --update"));
}

TEST_F(PlaceTest, InWsl1SaysThatThereIsNoKernel) {
  const Place place = find({{"/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n"}});
  EXPECT_THAT(advice(place, kNoNative), HasSubstr("wsl --set-version"));
}

TEST_F(PlaceTest, InAServiceNamesTheUnitAndItsOptions) {
  const Files files = {{"/proc/self/cgroup", "0::/system.slice/grader.service\n"},
                       {"/proc/self/status", kConfined},
                       {"/proc/self/mountinfo", kPlainMounts}};
  const Place place = find(files);
  EXPECT_EQ(describe(place), "the systemd service grader.service, as an ordinary user");
  EXPECT_THAT(advice(place, {.cgroup = true}), IsEmpty());  // Of cgroup v1: no help.
  EXPECT_THAT(advice(place, kNoNative),
              AllOf(HasSubstr("take out of grader.service: RestrictNamespaces="),
                    Not(HasSubstr("ProtectKernelTunables="))));
}

TEST_F(PlaceTest, InAServiceNamesWhatKeepsItFromLimits) {
  Files files = {{"/proc/self/cgroup", "0::/system.slice/grader.service\n"},
                 {"/sys/fs/cgroup/cgroup.controllers", "memory pids\n"},
                 {"/proc/self/mountinfo",
                  "22 1 0:21 / /proc rw,nosuid shared:2 - proc proc rw\n"
                  "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:3 - cgroup2 cgroup2 rw\n"}};
  EXPECT_EQ(advice(find(files), {.cgroup = true}),
            "for limits of all processes together, set Delegate=yes in grader.service "
            "(docs/containers.md)");
  files["/proc/self/mountinfo"] = "30 1 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup2 rw\n";
  EXPECT_THAT(advice(find(files), {.cgroup = true}),
              HasSubstr("set Delegate=yes in grader.service and take out of grader.service: "
                        "ProtectControlGroups="));
}

TEST_F(PlaceTest, OfRootWithoutCapabilitiesInAServiceNamesTheirOption) {
  const Files files = {{"/proc/self/cgroup", "0::/system.slice/grader.service\n"},
                       {"/proc/self/status", kConfined}};
  EXPECT_THAT(advice(find(files, {}, true), kNoNative), HasSubstr("CapabilityBoundingSet="));
}

TEST_F(PlaceTest, OfAConfinedProgramSaysWhatConfinesIt) {
  EXPECT_THAT(advice(find({{"/proc/self/status", kConfined}}), kNoNative),
              HasSubstr("outside of what confines it here: its system calls are filtered; as it "
                        "is, run with --min-tier landlock"));
  EXPECT_THAT(advice(find({{"/proc/self/status", kFree}, {"/proc/self/mountinfo", kCoveredMounts}}),
                     kNoNative),
              HasSubstr("parts of /proc are covered"));
}

TEST_F(PlaceTest, OfAKernelWithoutUserNamespacesNamesItsOption) {
  Files files = {{"/proc/self/ns/mnt", ""}};
  EXPECT_THAT(advice(find(files), kNoNative), HasSubstr("CONFIG_USER_NS"));
  files["/proc/self/ns/user"] = "";
  EXPECT_THAT(advice(find(files), kNoNative), IsEmpty());
}

TEST_F(PlaceTest, AdvisesTheLandlockTierOnlyWhereItWorks) {
  EXPECT_THAT(advice(find(docker()), kNoNative), HasSubstr("--min-tier landlock"));
  EXPECT_THAT(advice(find(docker()), {.native = true, .landlock_tier = true}),
              AllOf(HasSubstr("start the container with"), Not(HasSubstr("--min-tier landlock"))));
}

TEST_F(PlaceTest, InAGroupThatGloveboxMadeForItselfIsStillTheService) {
  EXPECT_EQ(find({{"/proc/self/cgroup", "0::/system.slice/grader.service/glovebox-host\n"}}).unit,
            "grader.service");
  EXPECT_EQ(
      find({{"/proc/self/cgroup", "5:memory:/x\n1:name=systemd:/system.slice/a.service\n"}}).unit,
      "a.service");
}

TEST_F(PlaceTest, InASessionOfAUserIsNoService) {
  for (const char* const path :
       {"/user.slice/user-1000.slice/session-2.scope",
        "/user.slice/user-1000.slice/user@1000.service",
        "/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope"}) {
    EXPECT_EQ(find({{"/proc/self/cgroup", "0::" + std::string(path) + "\n"}}).unit, "") << path;
  }
}

TEST_F(PlaceTest, OfRootIsNotHeldBackByWhatHoldsUsersBack) {
  const Files files = {{"/proc/sys/kernel/unprivileged_userns_clone", "0\n"},
                       {"/proc/sys/user/max_user_namespaces", "0\n"}};
  EXPECT_THAT(advice(find(files), kNoNative), HasSubstr("kernel.unprivileged_userns_clone=1"));
  EXPECT_THAT(advice(find(files, {}, true), kNoNative),
              AllOf(HasSubstr("user.max_user_namespaces="), Not(HasSubstr("clone"))));
}

TEST_F(PlaceTest, OfAnUnreadableMachineIsAnOrdinaryOne) {
  EXPECT_EQ(describe(find({{"/proc/self/cgroup", std::string("\0\xff::\n", 5)},
                           {"/proc/self/mountinfo", "x"},
                           {"/proc/self/status", "CapEff:\tzz\nSeccomp:\t"}})),
            "an ordinary machine, as an ordinary user");
}

}  // namespace
}  // namespace glovebox::cli
