// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/own_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "service/keeper/keeper.h"

namespace glovebox::keeper {
namespace {

namespace fs = std::filesystem;

class OwnPathsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(scratch_.data()), nullptr);
    fs::create_directories(data() + "/templates/key/root");
    fs::create_directories(scratch_ + "/other/root");
    std::ofstream(data() + "/templates/image") << "x";
    fs::create_symlink("/etc", data() + "/etc");
    fs::create_symlink("../other", data() + "/out");
    fs::create_directory_symlink(data(), scratch_ + "/alias");
  }
  void TearDown() override { fs::remove_all(scratch_); }

  [[nodiscard]] std::string data() const { return scratch_ + "/data"; }
  [[nodiscard]] bool takes(const std::string& path) const {
    return OwnPaths::open(data()).value().check(path).has_value();
  }
  [[nodiscard]] ErrorCode refusal_of(const CreateOrder& order) const {
    const auto checked = OwnPaths::open(data()).value().check(order);
    return checked ? ErrorCode::kInternal : checked.error().code();
  }

  std::string scratch_ = testing::TempDir() + "own-XXXXXX";
};

TEST_F(OwnPathsTest, WhatLiesBelowIsTakenByWhicheverNameOfTheDirectory) {
  EXPECT_TRUE(takes(data() + "/templates/key/root"));
  EXPECT_TRUE(takes(data() + "/templates/image"));
  EXPECT_TRUE(takes(scratch_ + "/alias/templates/key/root"));
  EXPECT_TRUE(takes(scratch_ + "/other/../data/templates/key/root"));
}

TEST_F(OwnPathsTest, WhatLiesElsewhereIsRefused) {
  for (const std::string& path :
       {std::string("/etc"), std::string("/"), std::string(), data(), data() + "/", data() + "/..",
        data() + "/../other/root", data() + "/templates/../../other/root",
        scratch_ + "/other/root"}) {
    EXPECT_FALSE(takes(path)) << path;
  }
}

TEST_F(OwnPathsTest, NoLinkInTheDirectoryLeadsOut) {
  EXPECT_FALSE(takes(data() + "/etc"));
  EXPECT_FALSE(takes(data() + "/etc/ssl"));
  EXPECT_FALSE(takes(data() + "/out/root"));
}

TEST_F(OwnPathsTest, AnOrderIsRefusedForAnyOfItsPaths) {
  CreateOrder root;
  root.shows.root = "/etc";
  EXPECT_EQ(refusal_of(root), ErrorCode::kRefused);
  CreateOrder mount;
  mount.shows.mounts = {{.source = "/root", .target = "/x", .closed = true}};
  EXPECT_EQ(refusal_of(mount), ErrorCode::kRefused);
  CreateOrder contents;
  contents.shows.contents = {"/etc"};
  EXPECT_EQ(refusal_of(contents), ErrorCode::kRefused);
  CreateOrder image;
  image.images = {{.image = "/dev/vda", .target = "/x"}};
  EXPECT_EQ(refusal_of(image), ErrorCode::kRefused);
  CreateOrder gone;
  gone.shows.root = data() + "/templates/gone/root";
  EXPECT_EQ(refusal_of(gone), ErrorCode::kNotFound);
}

TEST_F(OwnPathsTest, AFileThatIsToBeMadeNeedsItsDirectory) {
  const OwnPaths paths = OwnPaths::open(data()).value();
  EXPECT_TRUE(paths.check_parent(data() + "/templates/new"));
  EXPECT_FALSE(paths.check_parent(data() + "/out/new"));
  EXPECT_FALSE(paths.check_parent(data() + "/templates/.."));
  EXPECT_FALSE(paths.check_parent("/etc/new"));
}

}  // namespace
}  // namespace glovebox::keeper
