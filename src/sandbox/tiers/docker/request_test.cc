// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/request.h"

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

namespace glovebox::docker {
namespace {

// The number behind `name` in the options of a mount.
std::uint64_t option(const std::string& options, const std::string& name) {
  const std::size_t at = ("," + options).find("," + name + "=");
  return at == std::string::npos ? 0 : std::stoull(options.substr(at + name.size() + 1));
}

nlohmann::json host_config(const Limits& limits) {
  const SandboxSpec spec{.limits = limits, .env = {}, .mounts = {}};
  const std::string text = create_request({.name = "image", .own_system = false}, spec,
                                          {{.source = "/usr", .target = "/usr"}}, 77, 78);
  return nlohmann::json::parse(text)["HostConfig"];
}

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

}  // namespace
}  // namespace glovebox::docker
