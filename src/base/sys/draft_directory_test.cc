// SPDX-License-Identifier: Apache-2.0
#include "base/sys/draft_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class DraftDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "gb-drafts.XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    above_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(above_); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(above_)) {
      found.push_back(entry.path().filename());
    }
    return found;
  }

  std::string above_;
};

TEST_F(DraftDirectoryTest, OthersMayLookIntoIt) {
  const auto draft = make_draft_directory(above_);

  ASSERT_TRUE(draft);
  struct stat status {};
  ASSERT_EQ(::stat(draft->path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
}

TEST_F(DraftDirectoryTest, ASweepTakesWhatNobodyHoldsAndNothingWithAName) {
  ASSERT_TRUE(std::filesystem::create_directory(above_ + "/named"));
  auto held = make_draft_directory(above_);
  auto left = make_draft_directory(above_);
  ASSERT_TRUE(held && left);
  ASSERT_TRUE(std::filesystem::create_directory(left->path + "/below"));
  left->lock.reset();

  sweep_drafts(above_);

  EXPECT_THAT(names(), UnorderedElementsAre("named", std::filesystem::path(held->path).filename()));
}

// What was made is there for as long as it is held, however often others sweep meanwhile.
TEST_F(DraftDirectoryTest, ManyAreMadeWhileOthersSweep) {
  std::vector<std::jthread> sweepers;
  for (int i = 0; i < 2; ++i) {
    sweepers.emplace_back([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        sweep_drafts(above_);
      }
    });
  }
  for (int i = 0; i < 500; ++i) {
    const auto draft = make_draft_directory(above_);
    ASSERT_TRUE(draft) << draft.error().message();
    ASSERT_EQ(::mkdir((draft->path + "/files").c_str(), 0755), 0) << i;
    ASSERT_TRUE(is_named(draft->lock.get(), draft->path)) << i;
  }
  sweepers.clear();
  sweep_drafts(above_);
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace glovebox
