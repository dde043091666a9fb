// SPDX-License-Identifier: Apache-2.0
#include "service/runs/held_output.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace glovebox {
namespace {

namespace fs = std::filesystem;
using Kind = FileDifference::Kind;

class HeldOutputTest : public testing::Test {
 protected:
  HeldOutputTest() : held_(std::move(HeldOutput::make()).value()) {
    std::string place = "/tmp/held-output-test.XXXXXX";
    out_ = ::mkdtemp(place.data());
  }
  ~HeldOutputTest() override { fs::remove_all(out_); }

  static void write(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << content;
  }
  static std::string read(const std::string& path) {
    std::ostringstream content;
    content << std::ifstream(path).rdbuf();
    return content.str();
  }

  HeldOutput held_;
  std::string out_;
};

TEST_F(HeldOutputTest, TellsWhatIsNewAndWhatIsOtherwise) {
  write(held_.path() + "/sub/new", "n\n");
  write(held_.path() + "/other", "2\n");
  write(held_.path() + "/same", "s");
  write(out_ + "/other", "1\n");
  write(out_ + "/same", "s");
  const auto run = held_.differences({"sub/new", "other", "same"}, out_);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->files.size(), 2U);
  EXPECT_EQ(run->files[0].what.kind, Kind::kModified);
  EXPECT_EQ(run->files[0].diff, "--- a/other\n+++ b/other\n@@ -1 +1 @@\n-1\n+2\n");
  EXPECT_EQ(run->files[1].what.kind, Kind::kAdded);
  EXPECT_FALSE(fs::exists(out_ + "/sub"));
}

TEST_F(HeldOutputTest, ComesToItsPlaceWhenItIsCommitted) {
  write(held_.path() + "/sub/new", "n");
  const std::string place = out_ + "/made";
  const auto run = held_.differences({"sub/new"}, place);
  ASSERT_TRUE(run);
  const auto done = held_.commit({"sub/new"}, place, *run);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(read(place + "/sub/new"), "n");
}

TEST_F(HeldOutputTest, IsNotCommittedToWhatIsNotAsItWasShown) {
  write(held_.path() + "/f", "mine");
  const auto run = held_.differences({"f"}, out_);
  ASSERT_TRUE(run);
  write(out_ + "/f", "theirs");
  EXPECT_EQ(held_.commit({"f"}, out_, *run).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(read(out_ + "/f"), "theirs");
}

TEST_F(HeldOutputTest, FollowsNoLinkThatIsThere) {
  write(out_ + "/secret", "old");
  fs::create_symlink("secret", out_ + "/f");
  write(held_.path() + "/f", "new");
  const auto run = held_.differences({"f"}, out_);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->files[0].what.kind, Kind::kAdded);
  (void)held_.commit({"f"}, out_, *run);
  EXPECT_EQ(read(out_ + "/secret"), "old");
}

TEST_F(HeldOutputTest, IsGoneAtItsEnd) {
  std::string path;
  {
    const HeldOutput other = std::move(HeldOutput::make()).value();
    path = other.path();
    write(path + "/f", "x");
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0700U);
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace glovebox
