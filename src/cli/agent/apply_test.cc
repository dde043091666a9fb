// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/apply.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/digest/digest.h"

namespace glovebox::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Kind = Change::Kind;

class Apply : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "glovebox-apply.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    outside_ = name + ".outside";
    fs::create_directory(outside_);
    fd_ = UniqueFd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override {
    fs::remove_all(directory_);
    fs::remove_all(outside_);
  }

  // A file that was copied with that content.
  void has(const std::string& path, const std::string& content) {
    put(path, content);
    before_[path] = {.digest = sha256_hex(content)};
  }
  void put(const std::string& path, const std::string& content) {
    fs::create_directories((directory_ / path).parent_path());
    std::ofstream(directory_ / path, std::ios::trunc) << content;
  }
  std::string read(const std::string& path) {
    std::ifstream file(directory_ / path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<void> apply(const std::vector<Change>& changes) {
    return apply_changes(fd_.get(), before_, changes);
  }
  std::size_t files() {
    const auto each = fs::recursive_directory_iterator(directory_);
    return static_cast<std::size_t>(std::distance(fs::begin(each), fs::end(each)));
  }

  fs::path directory_;
  fs::path outside_;
  UniqueFd fd_;
  CheckoutFiles before_;
};

TEST_F(Apply, MakesAddedModifiedAndDeletedFiles) {
  has("a/gone", "x");
  has("kept", "x");
  ASSERT_TRUE(apply({{.path = "a/gone", .kind = Kind::kDeleted},
                     {.path = "b/c/new", .kind = Kind::kAdded, .executable = true, .content = "n"},
                     {.path = "kept", .content = "y"},
                     {.path = "link", .kind = Kind::kAdded, .is_link = true, .content = "kept"}}));
  EXPECT_FALSE(fs::exists(directory_ / "a"));  // Without files, as git leaves none.
  EXPECT_EQ(read("b/c/new"), "n");
  EXPECT_NE(fs::status(directory_ / "b/c/new").permissions() & fs::perms::owner_exec,
            fs::perms::none);
  EXPECT_EQ(read("kept"), "y");
  EXPECT_EQ(fs::read_symlink(directory_ / "link"), "kept");
  EXPECT_EQ(files(), 5U);
}

TEST_F(Apply, KeepsTheModeOfAFileButForItsExecution) {
  has("secret", "x");
  ASSERT_EQ(::chmod((directory_ / "secret").c_str(), 0600), 0);
  ASSERT_TRUE(apply({{.path = "secret", .executable = true, .content = "y"}}));
  EXPECT_EQ(static_cast<unsigned>(fs::status(directory_ / "secret").permissions()), 0700U);
}

TEST_F(Apply, RefusesEverythingWhereOneFileWasChangedHere) {
  has("one", "x");
  has("two", "x");
  put("two", "mine");
  const auto done = apply({{.path = "one", .content = "y"}, {.path = "two", .content = "y"}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kConflict);
  EXPECT_THAT(done.error().message(), HasSubstr("two"));
  EXPECT_EQ(read("one"), "x");
  EXPECT_EQ(read("two"), "mine");
}

TEST_F(Apply, ReplacesNothingThatWasNotCopied) {
  put(".env", "mine");
  EXPECT_FALSE(apply({{.path = ".env", .kind = Kind::kAdded, .content = "theirs"}}));
  fs::create_directory(directory_ / "ignored");
  EXPECT_FALSE(apply({{.path = "ignored", .kind = Kind::kAdded, .content = "theirs"}}));
  fs::create_symlink(outside_ / "new", directory_ / "dangling");
  EXPECT_FALSE(apply({{.path = "dangling", .kind = Kind::kAdded, .content = "theirs"}}));
  EXPECT_EQ(read(".env"), "mine");
  EXPECT_TRUE(fs::is_empty(outside_));
}

TEST_F(Apply, FollowsNoLink) {
  fs::create_directory_symlink(outside_, directory_ / "out");
  EXPECT_FALSE(apply({{.path = "out/new", .kind = Kind::kAdded, .content = "x"}}));
  // A directory that became a link meanwhile.
  has("d/file", "x");
  fs::rename(directory_ / "d", outside_ / "d");
  fs::create_directory_symlink(outside_ / "d", directory_ / "d");
  EXPECT_FALSE(apply({{.path = "d/file", .content = "y"}}));
  EXPECT_FALSE(apply({{.path = "d/file", .kind = Kind::kDeleted}}));
  EXPECT_EQ(read("d/file"), "x");
  EXPECT_FALSE(fs::exists(outside_ / "new"));
}

TEST_F(Apply, AFileTakesThePlaceOfADirectoryAndTheOtherWayRound) {
  has("d/file", "x");
  has("f", "x");
  ASSERT_TRUE(apply({{.path = "d", .kind = Kind::kAdded, .content = "now a file"},
                     {.path = "d/file", .kind = Kind::kDeleted},
                     {.path = "f", .kind = Kind::kDeleted},
                     {.path = "f/below", .kind = Kind::kAdded, .content = "now below"}}));
  EXPECT_EQ(read("d"), "now a file");
  EXPECT_EQ(read("f/below"), "now below");
}

TEST_F(Apply, ADirectoryWithOtherFilesStays) {
  has("d/file", "x");
  put("d/ignored", "mine");
  EXPECT_FALSE(apply({{.path = "d", .kind = Kind::kAdded, .content = "now a file"},
                      {.path = "d/file", .kind = Kind::kDeleted}}));
  EXPECT_EQ(read("d/ignored"), "mine");
}

}  // namespace
}  // namespace glovebox::cli
