// SPDX-License-Identifier: Apache-2.0
#include "archiver/export_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::archiver {
namespace {

namespace fs = std::filesystem;

class ExportTreeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { fs::remove_all(directory_); }

  void put(const std::string& name, std::string_view text) const {
    const fs::path path = fs::path(directory_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  [[nodiscard]] std::string exported(const std::string& prefix = "usr") const {
    const UniqueFd tree(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const UniqueFd archive(::memfd_create("archive", MFD_CLOEXEC));
    const auto done = export_tree(tree.get(), prefix, archive.get());
    EXPECT_TRUE(done) << done.error().message();
    std::string bytes(static_cast<std::size_t>(::lseek(archive.get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(archive.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return bytes;
  }

  // The type and the name of each entry, where names are short.
  static std::vector<std::string> entries_of(const std::string& archive) {
    std::vector<std::string> entries;
    for (std::size_t at = 0; at + 512 <= archive.size();) {
      const std::string name(archive.c_str() + at);
      const std::size_t size = std::stoul(archive.substr(at + 124, 11), nullptr, 8);
      entries.push_back(archive[at + 156] + (" " + name));
      at += 512 + (size + 511) / 512 * 512;
    }
    return entries;
  }

  std::string directory_ = testing::TempDir() + "export-XXXXXX";
};

TEST_F(ExportTreeTest, EntriesComeInTheOrderOfTheirNames) {
  put("b/two", "2");
  put("a", "1");
  put("b/one", "1");
  fs::create_symlink("/etc/passwd", fs::path(directory_) / "link");
  fs::create_hard_link(fs::path(directory_) / "a", fs::path(directory_) / "z");
  EXPECT_THAT(entries_of(exported()),
              testing::ElementsAre("5 usr/", "0 usr/a", "5 usr/b/", "0 usr/b/one", "0 usr/b/two",
                                   "2 usr/link", "1 usr/z"));
}

TEST_F(ExportTreeTest, NeitherTimesNorHolesNorTheOrderOfCreationShow) {
  put("a", std::string(100'000, '\0'));
  put("b", "b");
  const std::string first = exported();
  fs::remove(fs::path(directory_) / "a");
  const UniqueFd sparse(::open((directory_ + "/a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::ftruncate(sparse.get(), 100'000), 0);
  ASSERT_EQ(::fchmod(sparse.get(), 0644), 0);
  ASSERT_EQ(::chmod((directory_ + "/b").c_str(), 0644), 0);
  const std::array<timespec, 2> old{{{.tv_sec = 1, .tv_nsec = 5}, {.tv_sec = 1, .tv_nsec = 5}}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory_ + "/b").c_str(), old.data(), 0), 0);
  EXPECT_EQ(exported(), first);
}

TEST_F(ExportTreeTest, WhatIsNoFileIsLeftOutAndNobodyWaitsForIt) {
  ASSERT_EQ(::mkfifo((directory_ + "/fifo").c_str(), 0644), 0);
  put("file", "x");
  EXPECT_THAT(entries_of(exported("opt/a")), testing::ElementsAre("5 opt/a/", "0 opt/a/file"));
}

TEST_F(ExportTreeTest, LinksAreShownAndNotFollowed) {
  fs::create_directory_symlink("/etc", fs::path(directory_) / "etc");
  fs::create_directory_symlink(".", fs::path(directory_) / "loop");
  EXPECT_THAT(entries_of(exported()), testing::ElementsAre("5 usr/", "2 usr/etc", "2 usr/loop"));
}

}  // namespace
}  // namespace glovebox::archiver
