// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/request.h"

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.h"

namespace glovebox::docker {
namespace {

// The number behind `name` in the options of a mount.
std::uint64_t option(const std::string& options, const std::string& name) {
  const std::size_t at = ("," + options).find("," + name + "=");
  return at == std::string::npos ? 0 : std::stoull(options.substr(at + name.size() + 1));
}

struct Asked {
  nlohmann::json host;                  // The HostConfig.
  std::vector<nlohmann::json> volumes;  // That are made before, by Podman.
};

Asked asked(const Limits& limits, bool is_podman) {
  const SandboxSpec sandbox{.limits = limits, .env = {}, .mounts = {}};
  const std::vector<Mount> mounts = {{.source = "/usr", .target = "/usr"}};
  const ContainerSpec spec{.name = "box",
                           .sandbox = sandbox,
                           .mounts = mounts,
                           .runtime = "runc",
                           .is_podman = is_podman,
                           .terminals = "/volumes/box-pts",
                           .uid = 77,
                           .gid = 78};
  Asked all{.host = nlohmann::json::parse(create_request(spec))["HostConfig"], .volumes = {}};
  for (const std::string& request : volume_requests(spec)) {
    all.volumes.push_back(nlohmann::json::parse(request));
  }
  return all;
}

nlohmann::json host_config(const Limits& limits) { return asked(limits, false).host; }

TEST(DockerRequestTest, AllThatCanBeWrittenIsWithinTheLimitOfDisk) {
  for (const std::uint64_t megabytes : {1, 4, 256, 10'000}) {
    const Limits limits{.disk = Bytes{megabytes << 20U}, .inodes = 1000};
    std::uint64_t bytes = 0;
    std::uint64_t inodes = 0;
    const auto host = host_config(limits);
    for (const auto& [place, options] : host["Tmpfs"].items()) {
      bytes += option(options, "size");
      inodes += option(options, "nr_inodes") - 1;  // Its root.
      EXPECT_EQ(option(options, "uid"), 77U) << place;
    }
    EXPECT_LE(bytes, limits.disk.count);
    EXPECT_GE(bytes, limits.disk.count / 100 * 99);
    EXPECT_LE(inodes, limits.inodes);
  }
}

TEST(DockerRequestTest, NoFileSystemOfAGuestIsWithoutALimit) {
  const auto host = host_config({.disk = Bytes{1}, .inodes = 1});
  EXPECT_EQ(host["Tmpfs"].size(), 3U);
  for (const auto& [place, options] : host["Tmpfs"].items()) {
    EXPECT_GT(option(options, "size"), 0U) << place;
    EXPECT_GT(option(options, "nr_inodes"), 0U) << place;
  }
}

TEST(DockerRequestTest, WhatIsShownOfTheHostIsReadOnlyAndAlone) {
  const auto host = host_config({});
  EXPECT_FALSE(host.contains("Binds"));
  for (const auto& mount : host["Mounts"]) {
    if (mount["Type"] == "bind") {
      EXPECT_EQ(mount["ReadOnly"], true);
      EXPECT_EQ(mount["BindOptions"]["NonRecursive"], true);
    }
  }
}

TEST(DockerRequestTest, AnUpdateHasTheLimitsOfACreation) {
  const Limits limits{.memory = 64_MiB, .cpus = 0.001, .pids = 9};
  const auto created = host_config(limits);
  const auto update = nlohmann::json::parse(update_request(limits));
  EXPECT_EQ(update.size(), 4U);
  for (const auto& [name, value] : update.items()) {
    EXPECT_EQ(created[name], value) << name;
  }
  EXPECT_EQ(update["PidsLimit"], 10) << "with the warden";
  EXPECT_EQ(update["NanoCpus"], 10'000'000) << "the least that engines take";
}

TEST(PodmanRequestTest, AllThatCanBeWrittenIsWithinTheLimitOfDisk) {
  const Limits limits{.disk = Bytes{256U << 20U}, .inodes = 1000};
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  for (const auto& volume : asked(limits, true).volumes) {
    const auto& options = volume["DriverOpts"];
    if (options["type"] == "tmpfs" && option(options["o"], "uid") == 77) {
      bytes += option(options["o"], "nr_blocks") * 4096;
      inodes += option(options["o"], "nr_inodes") - 1;  // Its root.
    } else {
      EXPECT_TRUE(options["type"] == "devpts" || option(options["o"], "nr_blocks") <= 16) << volume;
    }
  }
  EXPECT_LE(bytes, limits.disk.count);
  EXPECT_GE(bytes, limits.disk.count / 100 * 99);
  EXPECT_LE(inodes, limits.inodes);
}

TEST(PodmanRequestTest, OnlyVolumesOfItsOwnAreWrittenTo) {
  const Asked all = asked({}, true);
  const std::vector<std::string> known = volume_names("box");
  std::set<std::string> made;
  for (const auto& volume : all.volumes) {
    made.insert(volume["Name"].get<std::string>());
    EXPECT_THAT(known, testing::Contains(volume["Name"])) << "or it would never be removed";
  }
  std::set<std::string> mounted;
  std::set<std::string> targets;
  for (const auto& bind : all.host["Binds"]) {
    const std::string text = bind;
    const std::size_t colon = text.find(':');
    mounted.insert(text.substr(0, colon));
    targets.insert(text.substr(colon + 1, text.find(':', colon + 1) - colon - 1));
  }
  EXPECT_EQ(mounted.erase("/volumes/box-pts"), 1U) << "the terminals, once more";
  EXPECT_EQ(mounted, made);
  // Where Podman would mount file systems without a limit by itself.
  for (const char* const target : {"/run", "/tmp", "/var/tmp", "/dev/shm"}) {
    EXPECT_TRUE(targets.contains(target)) << target;
  }
  EXPECT_FALSE(all.host.contains("Tmpfs"));
}

TEST(PodmanRequestTest, AnUpdateHasTheLimitsOfACreation) {
  const Limits limits{.memory = 64_MiB, .cpus = 0.5, .pids = 9};
  const auto update = nlohmann::json::parse(podman_update_request(limits));
  EXPECT_EQ(update["memory"]["limit"], 64U << 20U);
  EXPECT_EQ(update["memory"]["swap"], 64U << 20U);
  EXPECT_EQ(update["pids"]["limit"], 10) << "with the warden";
  EXPECT_EQ(update["cpu"]["quota"], 50'000);
}

}  // namespace
}  // namespace glovebox::docker
