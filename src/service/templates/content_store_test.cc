// SPDX-License-Identifier: Apache-2.0
#include "service/templates/content_store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/sys/tree.h"

namespace glovebox {
namespace {

class ContentStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    store_ = std::make_unique<ContentStore>(*ContentStore::open(directory_ + "/templates"));
  }
  void TearDown() override { (void)sys::remove_tree(directory_); }

  [[nodiscard]] Result<Content> make(const std::string& key, const std::string& text) const {
    ContentDraft draft = GB_TRY(store_->begin());
    std::ofstream(draft.path() + "/file") << text;
    return store_->commit(std::move(draft), key);
  }
  [[nodiscard]] std::string text_of(const std::string& key) const {
    std::ifstream file(store_->path_of(key) + "/file");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t entries() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/templates")) {
      count += entry.path().filename() == ".memory" ? 0 : 1;
    }
    return count;
  }

  std::string directory_ = testing::TempDir() + "contents-XXXXXX";
  std::unique_ptr<ContentStore> store_;
};

TEST_F(ContentStoreTest, WhatWasCommittedIsFound) {
  EXPECT_FALSE(store_->find("k"));
  ASSERT_TRUE(make("k", "text"));
  EXPECT_TRUE(store_->find("k"));
  EXPECT_EQ(text_of("k"), "text");
}

TEST_F(ContentStoreTest, ADraftThatIsDroppedLeavesNothing) {
  { const auto draft = store_->begin(); }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(ContentStoreTest, WhoeverIsFirstStays) {
  ASSERT_TRUE(make("k", "first"));
  const auto second = make("k", "second");
  ASSERT_TRUE(second);
  EXPECT_EQ(text_of("k"), "first");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(ContentStoreTest, ASweepTakesWhatIsNeitherUsedNorHeld) {
  ASSERT_TRUE(make("used", ""));
  ASSERT_TRUE(make("free", ""));
  const auto held = make("held", "");
  const UniqueFd by_path = hold_content(store_->path_of("used"));
  const auto draft = store_->begin();
  store_->sweep({"used"});
  EXPECT_TRUE(store_->find("used"));
  EXPECT_TRUE(store_->find("held"));
  EXPECT_FALSE(store_->find("free"));
  EXPECT_EQ(entries(), 3U);  // With the draft, which somebody fills.
}

TEST_F(ContentStoreTest, WhatIsRetiredLosesItsNameAtOnceAndItsFilesLater) {
  ASSERT_TRUE(make("free", ""));
  store_->retire({});
  EXPECT_FALSE(store_->find("free"));
  EXPECT_EQ(entries(), 1U);
  store_->sweep_drafts();
  EXPECT_EQ(entries(), 0U);
}

TEST_F(ContentStoreTest, ASweepTakesDraftsOfBuildersThatDied) {
  std::filesystem::create_directories(directory_ + "/templates/.build-dead/root/etc");
  store_->sweep({});
  EXPECT_EQ(entries(), 0U);
}

TEST_F(ContentStoreTest, ASweepOfDraftsLeavesPiecesAndDraftsThatAreBeingFilled) {
  std::filesystem::create_directories(directory_ + "/templates/.build-dead/root/etc");
  ASSERT_TRUE(make("unnamed by any record", ""));
  const auto draft = store_->begin();
  store_->sweep_drafts();
  EXPECT_TRUE(store_->find("unnamed by any record"));
  EXPECT_TRUE(std::filesystem::exists(draft->path()));
  EXPECT_EQ(entries(), 2U);
}

}  // namespace
}  // namespace glovebox
