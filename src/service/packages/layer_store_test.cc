// SPDX-License-Identifier: Apache-2.0
#include "service/packages/layer_store.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"

namespace glovebox {
namespace {

namespace fs = std::filesystem;

class LayerStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "glovebox-layers.XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    store_.emplace(std::move(LayerStore::open(root_ / "layers")).value());
  }
  void TearDown() override { ASSERT_TRUE(sys::remove_tree(root_)); }

  LayerDraft draft(const std::string& text) {
    LayerDraft made = store_->begin().value();
    fs::create_directories(made.files() + "/a/b");
    std::ofstream(made.files() + "/a/b/text") << text;
    return made;
  }
  Result<Layer> make(const std::string& key,
                     const std::string& text,
                     Bytes max = LayerStore::kMaxTotal) {
    return store_->commit(draft(text), key, max);
  }
  std::optional<Layer> find(const std::string& key) { return store_->find(key).value(); }

  static std::string text_in(const Layer& layer) {
    std::ifstream file(layer.files() + "/a/b/text");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Of the layers, without what is there for other reasons.
  [[nodiscard]] std::ptrdiff_t directories() const {
    return std::distance(fs::directory_iterator(root_ / "layers"), {}) - 1;
  }
  void used_an_hour_ago(const std::string& key) {
    fs::last_write_time(root_ / "layers" / key / "seal",
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
  }

  fs::path root_;
  std::optional<LayerStore> store_;
};

TEST_F(LayerStoreTest, FindsWhatWasCommitted) {
  EXPECT_FALSE(find("k"));
  ASSERT_TRUE(make("k", "hello"));

  const auto found = find("k");

  ASSERT_TRUE(found);
  EXPECT_EQ(text_in(*found), "hello");
  EXPECT_FALSE(find("other"));
}

TEST_F(LayerStoreTest, MakesALayerReadOnly) {
  const auto layer = make("k", "hello");

  for (const char* const path : {"", "/a", "/a/b", "/a/b/text"}) {
    struct stat status {};
    ASSERT_EQ(::stat((layer->files() + path).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0222, 0U) << path;
  }
}

TEST_F(LayerStoreTest, LeavesNothingOfADraftThatIsNotCommitted) {
  { const LayerDraft unfinished = draft("half"); }

  EXPECT_EQ(directories(), 0);
}

TEST_F(LayerStoreTest, RemovesWhatAKilledBuilderLeft) {
  const pid_t builder = ::fork();
  if (builder == 0) {
    const LayerDraft unfinished = draft("half");
    (void)::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(builder, &status, 0), builder);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(directories(), 1);

  ASSERT_TRUE(make("k", "whole"));

  EXPECT_EQ(directories(), 1);
  EXPECT_TRUE(find("k"));
}

TEST_F(LayerStoreTest, LeavesTheDraftsOfOthersAlone) {
  LayerDraft first = draft("first");
  ASSERT_TRUE(make("second", "second"));

  ASSERT_TRUE(store_->commit(std::move(first), "first"));

  EXPECT_EQ(text_in(*find("first")), "first");
}

TEST_F(LayerStoreTest, GivesTheFirstOfTwoThatMadeTheSame) {
  LayerDraft slow = draft("slow");
  ASSERT_TRUE(make("k", "fast"));

  const auto layer = store_->commit(std::move(slow), "k");

  ASSERT_TRUE(layer);
  EXPECT_EQ(text_in(layer.value()), "fast");
  EXPECT_EQ(directories(), 1);
}

TEST_F(LayerStoreTest, DoesNotTakeAChangedLayerForTheOneThatWasSealed) {
  const auto spoil = [this](const std::string& key, auto change) {
    const std::string files = make(key, "hello")->files();
    for (const char* const path : {"/a/b", "/a/b/text"}) {
      ASSERT_EQ(::chmod((files + path).c_str(), 0755), 0);
    }
    ASSERT_EQ(::chmod((files + "/a/b/text").c_str(), 0644), 0);
    change(files);
    ASSERT_EQ(::chmod((files + "/a/b").c_str(), 0555), 0);
    (void)::chmod((files + "/a/b/text").c_str(), 0444);
    EXPECT_FALSE(find(key)) << key;
    EXPECT_FALSE(fs::exists(root_ / "layers" / key)) << key;
  };
  spoil("longer",
        [](const std::string& files) { std::ofstream(files + "/a/b/text", std::ios::app) << "!"; });
  spoil("same-size",
        [](const std::string& files) { std::ofstream(files + "/a/b/text") << "jelly"; });
  spoil("missing", [](const std::string& files) { fs::remove(files + "/a/b/text"); });
  spoil("more", [](const std::string& files) { std::ofstream(files + "/a/b/new") << ""; });
  spoil("link", [](const std::string& files) {
    fs::remove(files + "/a/b/text");
    fs::create_symlink("/etc/hostname", files + "/a/b/text");
  });
  spoil("unsealed", [](const std::string& files) { fs::remove(files + "/../seal"); });
}

TEST_F(LayerStoreTest, RemovesTheOneThatWasNotUsedForLongest) {
  const std::string text(100'000, 'x');
  ASSERT_TRUE(make("old", text));
  ASSERT_TRUE(make("older", text));
  used_an_hour_ago("old");
  used_an_hour_ago("older");
  ASSERT_TRUE(find("old"));

  ASSERT_TRUE(make("new", text, 250_KiB));

  EXPECT_TRUE(find("old"));
  EXPECT_FALSE(find("older"));
  EXPECT_TRUE(find("new"));
}

TEST_F(LayerStoreTest, KeepsWhatIsInUseEvenWhereItIsTooMuch) {
  const std::string text(100'000, 'x');
  const auto used = make("used", text);
  used_an_hour_ago("used");

  ASSERT_TRUE(make("new", text, 1_KiB));

  EXPECT_EQ(text_in(used.value()), text);
  EXPECT_TRUE(find("used"));
}

TEST_F(LayerStoreTest, RefusesADirectoryThatOthersCanWriteTo) {
  ASSERT_EQ(::chmod((root_ / "layers").c_str(), 0777), 0);

  const auto store = LayerStore::open(root_ / "layers");

  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), ErrorCode::kRefused);
}

}  // namespace
}  // namespace glovebox
