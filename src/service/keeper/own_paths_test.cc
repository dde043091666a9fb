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
    scratch_ = fs::canonical(scratch_);
    fs::create_directories(data() + "/templates/key/root");
    fs::create_directories(data() + "/snapshots");
    fs::create_directories(scratch_ + "/other/root");
    std::ofstream(data() + "/templates/image") << "x";
    std::ofstream(data() + "/api-key") << "x";
    fs::create_symlink("/etc", data() + "/templates/etc");
    fs::create_symlink("../../other", data() + "/templates/out");
    fs::create_directory_symlink(data(), scratch_ + "/alias");
  }
  void TearDown() override { fs::remove_all(scratch_); }

  [[nodiscard]] std::string data() const { return scratch_ + "/data"; }
  [[nodiscard]] OwnPaths paths() const { return OwnPaths::open(data()).value(); }
  [[nodiscard]] std::string found(const std::string& path) const {
    const auto resolved = paths().resolve(path);
    return resolved ? *resolved : "refused";
  }
  [[nodiscard]] bool takes(const std::string& path) const {
    return paths().resolve(path).has_value();
  }
  [[nodiscard]] ErrorCode refusal_of(const CreateOrder& order) const {
    const auto resolved = paths().resolve(order);
    return resolved ? ErrorCode::kInternal : resolved.error().code();
  }

  std::string scratch_ = testing::TempDir() + "own-XXXXXX";
};

TEST_F(OwnPathsTest, WhatLiesBelowIsFoundByWhicheverNameOfTheDirectory) {
  const std::string root = data() + "/templates/key/root";
  EXPECT_EQ(found(root), root);
  EXPECT_EQ(found(scratch_ + "/alias/templates/key/root"), root);
  EXPECT_EQ(found(scratch_ + "/other/../data/templates/key/root"), root);
  EXPECT_EQ(found(data() + "/templates/image"), data() + "/templates/image");
}

TEST_F(OwnPathsTest, WhatLiesElsewhereIsRefused) {
  for (const std::string& path :
       {std::string("/etc"), std::string("/"), std::string(), data(), data() + "/", data() + "/..",
        data() + "/../other/root", data() + "/templates/../../other/root", scratch_ + "/other/root",
        data() + "/api-key", data() + "/images/x", data() + "/templates",
        data() + "/templates/../api-key"}) {
    EXPECT_FALSE(takes(path)) << path;
  }
}

TEST_F(OwnPathsTest, NoLinkInTheDirectoryLeadsOut) {
  EXPECT_FALSE(takes(data() + "/templates/etc"));
  EXPECT_FALSE(takes(data() + "/templates/etc/ssl"));
  EXPECT_FALSE(takes(data() + "/templates/out/root"));
}

TEST_F(OwnPathsTest, ASecondNameOfAFileIsRefused) {
  fs::create_hard_link(data() + "/api-key", data() + "/snapshots/key");
  EXPECT_FALSE(takes(data() + "/snapshots/key"));
}

TEST_F(OwnPathsTest, WhatAnotherUserMadeIsRefused) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can make files of another user";
  }
  std::ofstream(data() + "/snapshots/theirs") << "x";
  ASSERT_EQ(::chown((data() + "/snapshots/theirs").c_str(), 65534, 65534), 0);
  for (const char* const name : {"theirs", "/theirs", "./theirs", "../snapshots/theirs"}) {
    EXPECT_FALSE(takes(data() + "/snapshots/" + name)) << name;
  }
  ASSERT_EQ(::chown((data() + "/templates/key").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(takes(data() + "/templates/key/root"));
  (void)paths();  // Makes the directory.
  ASSERT_EQ(::chown((data() + "/volumes").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(OwnPaths::open(data()));
}

TEST_F(OwnPathsTest, ADirectoryThatOthersWriteToMustBeSticky) {
  fs::permissions(data() + "/snapshots", static_cast<fs::perms>(0770));
  EXPECT_FALSE(OwnPaths::open(data()));
  fs::permissions(data() + "/snapshots", static_cast<fs::perms>(01770));
  EXPECT_TRUE(OwnPaths::open(data()));
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

TEST_F(OwnPathsTest, AFileThatIsToBeMadeLiesDirectlyInADirectory) {
  const OwnPaths own = paths();
  EXPECT_EQ(own.resolve_new(scratch_ + "/alias/snapshots/new").value(), data() + "/snapshots/new");
  for (const std::string& path : {data() + "/templates/out/new", data() + "/templates/..",
                                  data() + "/new", std::string("/etc/new"), data() + "/volumes/"}) {
    EXPECT_FALSE(own.resolve_new(path)) << path;
  }
}

}  // namespace
}  // namespace glovebox::keeper
