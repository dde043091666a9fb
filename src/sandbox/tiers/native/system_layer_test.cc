// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/system_layer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/unique_fd.h"

namespace glovebox {
namespace {

namespace fs = std::filesystem;

class SystemLayerTest : public testing::Test {
 protected:
  SystemLayerTest() {
    std::string place = testing::TempDir() + "gb-system-layer-XXXXXX";
    EXPECT_NE(::mkdtemp(place.data()), nullptr);
    place_ = place;
    use(place_);
  }
  ~SystemLayerTest() override {
    fs::remove_all(place_);
    ::unsetenv("XDG_CACHE_HOME");  // NOLINT(concurrency-mt-unsafe)
  }

  static void use(const fs::path& cache) {
    ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  [[nodiscard]] fs::path shelf() const { return place_ / "glovebox/system"; }
  [[nodiscard]] fs::path current() const { return fs::canonical(shelf() / "current"); }

  fs::path place_;
};

// Where this process sees what is in a directory of a layer.
fs::path seen(const SystemLayer::Directory& directory) {
  return directory.mount ? "/proc/self/fd/" + std::to_string(directory.mount.get()) + "/"
                         : directory.path + "/";
}

void expect_public_copy(const fs::path& etc) {
  EXPECT_TRUE(fs::exists(etc / "pam.d"));
  EXPECT_FALSE(fs::exists(etc / "shadow"));
  EXPECT_FALSE(fs::exists(etc / "sudoers"));
  for (const auto& entry :
       fs::recursive_directory_iterator(etc, fs::directory_options::skip_permission_denied)) {
    const fs::path source = "/etc" / entry.path().lexically_relative(etc);
    if (entry.is_regular_file() && !entry.is_symlink()) {
      EXPECT_NE(fs::status(source).permissions() & fs::perms::others_read, fs::perms::none)
          << source;
    }
  }
}

TEST_F(SystemLayerTest, IsMadeOnce) {
  const auto first = SystemLayer::take();
  ASSERT_TRUE(first);
  const fs::path made = current();
  const auto second = SystemLayer::take();
  ASSERT_TRUE(second);
  EXPECT_EQ(current(), made);
}

TEST_F(SystemLayerTest, HoldsNothingThatNotEverybodyMayRead) {
  auto layer = SystemLayer::take();
  ASSERT_TRUE(layer);
  const SystemLayer::Directory etc = layer->take_etc();
  expect_public_copy(seen(etc));
}

TEST_F(SystemLayerTest, CannotBeWrittenThroughItsMount) {
  auto layer = SystemLayer::take();
  ASSERT_TRUE(layer);
  const SystemLayer::Directory etc = layer->take_etc();
  if (!etc.mount) {
    GTEST_SKIP() << "only who may mount has mounts";
  }
  EXPECT_FALSE(std::ofstream(seen(etc) / "new").is_open());
}

TEST_F(SystemLayerTest, IsForItsOwnerAlone) {
  ASSERT_TRUE(SystemLayer::take());
  EXPECT_EQ(fs::status(shelf()).permissions(), fs::perms::owner_all);
}

TEST_F(SystemLayerTest, IsNotTakenFromWhereOthersCanWrite) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can do without a place to keep it";
  }
  ASSERT_TRUE(SystemLayer::take());
  std::ofstream(current() / "etc/planted") << "x";
  fs::permissions(shelf(), fs::perms::others_all, fs::perm_options::add);
  auto layer = SystemLayer::take();
  ASSERT_TRUE(layer);
  const SystemLayer::Directory etc = layer->take_etc();
  EXPECT_TRUE(fs::exists(seen(etc) / "pam.d"));
  EXPECT_FALSE(fs::exists(seen(etc) / "planted"));
}

TEST_F(SystemLayerTest, IsInMemoryWhereThereIsNoPlaceToKeepIt) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root makes mounts in memory";
  }
  const fs::path file = place_ / "file";
  std::ofstream(file) << "x";
  use(file);
  auto layer = SystemLayer::take();
  ASSERT_TRUE(layer);
  const SystemLayer::Directory etc = layer->take_etc();
  ASSERT_TRUE(etc.mount);
  expect_public_copy(seen(etc));
  EXPECT_FALSE(std::ofstream(seen(etc) / "new").is_open());
}

TEST_F(SystemLayerTest, IsMadeAnewWhenASourceIsAnother) {
  auto first = SystemLayer::take();
  ASSERT_TRUE(first);
  const fs::path old = current();
  // As if the first file that was noted had changed since: after the 64 digits of the recipe.
  std::fstream sources(old / "sources", std::ios::in | std::ios::out | std::ios::binary);
  sources.seekp(64 + 8);
  sources.put('x').flush();
  const auto second = SystemLayer::take();
  ASSERT_TRUE(second);
  const fs::path newer = current();
  EXPECT_NE(newer, old);
  EXPECT_TRUE(fs::exists(old / "etc")) << "somebody has it";

  first = SystemLayer();  // Nobody has it any more; it goes with the next that is made.
  std::ofstream(newer / "sources", std::ios::trunc) << "x";
  const auto third = SystemLayer::take();
  ASSERT_TRUE(third);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(newer / "etc"));
}

TEST_F(SystemLayerTest, RemovesNothingWhileOthersMakeTheirs) {
  ASSERT_TRUE(SystemLayer::take());
  const fs::path link = shelf() / "made.0.link";
  const fs::path unlocked = shelf() / "made.1";
  fs::create_symlink("made.0", link);
  fs::create_directory(unlocked);
  {
    const UniqueFd maker(::open(shelf().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(maker.get(), LOCK_SH), 0);
    fs::remove(shelf() / "current");
    ASSERT_TRUE(SystemLayer::take());
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_TRUE(fs::exists(unlocked));
  }
  fs::remove(shelf() / "current");
  ASSERT_TRUE(SystemLayer::take());
  EXPECT_FALSE(fs::is_symlink(link));
  EXPECT_FALSE(fs::exists(unlocked));
}

TEST_F(SystemLayerTest, IsMadeAnewByAProgramWithOtherLists) {
  ASSERT_TRUE(SystemLayer::take());
  const fs::path old = current();
  std::fstream(old / "sources", std::ios::in | std::ios::out | std::ios::binary).put('x');
  ASSERT_TRUE(SystemLayer::take());
  EXPECT_NE(current(), old);
}

}  // namespace
}  // namespace glovebox
