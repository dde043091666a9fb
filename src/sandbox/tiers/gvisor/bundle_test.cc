// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/gvisor/bundle.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/json/json.h"

namespace glovebox {
namespace {

using nlohmann::json;

class BundleTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "glovebox-bundle.XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    place_ = path;
    std::filesystem::create_directories(place_ / "root");
    std::filesystem::create_directories(place_ / "host");
    std::ofstream(place_ / "host/there") << "of the host";
  }
  void TearDown() override { std::filesystem::remove_all(place_); }

  Bundle make(const SandboxSpec& spec) {
    const std::string path = place_ / "root";
    const UniqueFd program(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    auto bundle =
        make_bundle({.directory = UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
                     .path = path},
                    spec, {.warden = program.get(), .archiver = program.get()});
    EXPECT_TRUE(bundle) << bundle.error().message();
    return bundle ? std::move(bundle).value() : Bundle{};
  }

  std::filesystem::path place_;
};

std::set<std::string> namespaces_of(const Bundle& bundle) {
  const json config = json::parse(bundle.config);
  std::set<std::string> types;
  for (const json& each : config.at("linux").at("namespaces")) {
    types.insert(each.at("type").get<std::string>());
  }
  return types;
}

TEST_F(BundleTest, WithoutAWayOutTheNetworkIsANewOne) {
  const std::set<std::string> types = namespaces_of(make({}));
  EXPECT_TRUE(types.contains("network"));
}

TEST_F(BundleTest, WithAWayOutTheKernelHasNoPowerOverItsNetwork) {
  SandboxSpec spec;
  spec.egress_port = 3128;
  const Bundle bundle = make(spec);
  const std::set<std::string> types = namespaces_of(bundle);
  EXPECT_FALSE(types.contains("network"));
  // Or runsc would start it in our own, which the network belongs to.
  EXPECT_TRUE(types.contains("user"));
  const json system = json::parse(bundle.config).at("linux");
  EXPECT_FALSE(system.at("uidMappings").empty());
  EXPECT_FALSE(system.at("gidMappings").empty());
}

TEST_F(BundleTest, AFileOfOursCoversTheHostsWhereThereIsOne) {
  SandboxSpec spec;
  spec.mounts = {{.source = place_ / "host", .target = "/etc/place"}};
  spec.own_files = {{.name = "one", .content = "1", .shown_at = "/etc/place/there"},
                    {.name = "two", .content = "2", .shown_at = "/etc/place/missing"},
                    {.name = "three", .content = "3", .shown_at = "/etc/hosts"}};
  const Bundle bundle = make(spec);
  const auto is_covered = [&](const std::string& target) {
    return std::ranges::find(bundle.binds, target, &BundleBind::target) != bundle.binds.end();
  };
  EXPECT_TRUE(is_covered("/etc/place/there"));
  EXPECT_FALSE(is_covered("/etc/place/missing"));
  EXPECT_TRUE(is_covered("/etc/hosts"));
}

}  // namespace
}  // namespace glovebox
