// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/sys/tree.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-log.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/log";
    file_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ASSERT_TRUE(file_);
  }
  void TearDown() override { ASSERT_TRUE(sys::remove_tree(directory_)); }

  static std::vector<std::string> lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      lines.push_back(line);
    }
    return lines;
  }

  std::string directory_;
  std::string path_;
  UniqueFd file_;
};

TEST_F(LogTest, ALineHasATimeALevelAndAMessageThatStaysOneLine) {
  Log log(file_.get());
  log.info("one");
  log.error("two\nthree\x1b[31m");
  const auto written = lines(path_);
  ASSERT_EQ(written.size(), 2U);
  const std::string stamp = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.][0-9]{3}Z ";
  EXPECT_THAT(written[0], ::testing::ContainsRegex(stamp + "info one$"));
  EXPECT_THAT(written[1], ::testing::ContainsRegex(stamp + "error two"));
  EXPECT_EQ(written[1].find('\x1b'), std::string::npos);
}

TEST_F(LogTest, AFloodOfOneLevelIsCutAndHidesNoOtherLevel) {
  Log log(file_.get());
  for (std::size_t i = 0; i < 10 * Log::kMostInWindow; ++i) {
    log.info("flood");
  }
  log.error("seen");
  const auto written = lines(path_);
  EXPECT_EQ(written.size(), Log::kMostInWindow + 1);
  EXPECT_THAT(written.back(), ::testing::EndsWith("error seen"));
}

TEST_F(LogTest, AFileThatIsFullIsKeptOnceAndANewOneBegins) {
  Log log(file_.get());
  log.rotate(path_, 4'096);
  const std::string message(200, 'x');
  for (int i = 0; i < 60; ++i) {
    log.info(message);
  }
  const auto size_of = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_size : -1;
  };
  EXPECT_GE(size_of(path_ + ".1"), 4'096);
  EXPECT_LT(size_of(path_ + ".1"), 4'096 + 512);
  EXPECT_GT(size_of(path_), 0);
  EXPECT_LT(size_of(path_), 4'096);
}

TEST_F(LogTest, WhatIsNotTheFileOfThatNameIsLeftAlone) {
  const std::string other = directory_ + "/other";
  std::ofstream(other) << "kept";
  Log log(file_.get());
  log.rotate(other, 1);
  log.info("one");
  log.info("two");
  EXPECT_EQ(lines(other), std::vector<std::string>{"kept"});
  EXPECT_EQ(lines(path_).size(), 2U);
}

}  // namespace
}  // namespace glovebox
