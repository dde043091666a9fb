// SPDX-License-Identifier: Apache-2.0
#include "service/packages/package_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::Not;

// SHA-256 of "abc" (FIPS 180-2, B.1).
constexpr const char* kHashOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class PackageSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "glovebox-source.XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    fs::create_directories(root_ / "source");
    fs::create_directories(root_ / "memory");
    ASSERT_EQ(::chmod((root_ / "source").c_str(), 0755), 0);
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& name, const std::string& text) {
    std::ofstream(root_ / "source" / name) << text;
  }
  std::vector<PackageFile> files(PackageManager manager = PackageManager::kPip) {
    const auto source = PackageSource::open(root_ / "source");
    EXPECT_TRUE(source);
    auto found = source->files(manager, root_ / "memory");
    EXPECT_TRUE(found) << found.error().message();
    return found.value();
  }

  fs::path root_;
};

TEST_F(PackageSourceTest, KnowsTheHashOfEachFile) {
  put("a-1.0-py3-none-any.whl", "abc");

  EXPECT_THAT(files(), ElementsAre(PackageFile{"a-1.0-py3-none-any.whl", 3, kHashOfAbc}));
}

TEST_F(PackageSourceTest, ShowsEachManagerWhatItCanInstall) {
  for (const char* const name : {"b.tar.gz", "a.whl", "c.tgz", "README", "x.whl.part"}) {
    put(name, "");
  }

  const auto pip = files(PackageManager::kPip);
  const auto npm = files(PackageManager::kNpm);

  ASSERT_EQ(pip.size(), 2U);
  EXPECT_EQ(pip[0].name, "a.whl");
  EXPECT_EQ(pip[1].name, "b.tar.gz");
  ASSERT_EQ(npm.size(), 2U);
  EXPECT_EQ(npm[0].name, "b.tar.gz");
  EXPECT_EQ(npm[1].name, "c.tgz");
}

TEST_F(PackageSourceTest, SeesThatAFileChangedThoughItsNameAndSizeDidNot) {
  put("a.whl", "abc");
  const auto before = files();
  put("a.whl", "abd");

  EXPECT_THAT(files(), Not(ElementsAre(before.front())));
}

TEST_F(PackageSourceTest, IsNoFileAndNothingThatIsMissing) {
  put("a.whl", "abc");

  for (const fs::path& path : {root_ / "source/a.whl", root_ / "absent"}) {
    const auto source = PackageSource::open(path);
    ASSERT_FALSE(source) << path;
    EXPECT_EQ(source.error().code(), ErrorCode::kInvalid);
  }
}

TEST_F(PackageSourceTest, IsRefusedWhereTheGuestOfRootCouldNotReadIt) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "not root: the guest is the same user";
  }
  put("a.whl", "abc");
  ASSERT_EQ(::chmod((root_ / "source/a.whl").c_str(), 0600), 0);
  EXPECT_FALSE(
      PackageSource::open(root_ / "source")->files(PackageManager::kPip, root_ / "memory"));

  ASSERT_EQ(::chmod((root_ / "source").c_str(), 0700), 0);
  EXPECT_FALSE(PackageSource::open(root_ / "source"));
}

TEST_F(PackageSourceTest, DoesNotWaitForAFifo) {
  ASSERT_EQ(::mkfifo((root_ / "source/a.whl").c_str(), 0644), 0);
  ASSERT_EQ(::chmod((root_ / "source/a.whl").c_str(), 0644), 0);

  EXPECT_THAT(files(), ElementsAre());
}

}  // namespace
}  // namespace glovebox
