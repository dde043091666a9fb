// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/system_layer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace glovebox {
namespace {

namespace fs = std::filesystem;

class SystemLayerTest : public testing::Test {
 protected:
  SystemLayerTest() {
    std::string place = testing::TempDir() + "gb-system-layer-XXXXXX";
    EXPECT_NE(::mkdtemp(place.data()), nullptr);
    place_ = place;
    const char* const variable = ::geteuid() == 0 ? "GLOVEBOX_RUNTIME_DIR" : "XDG_RUNTIME_DIR";
    ::setenv(variable, place_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~SystemLayerTest() override { fs::remove_all(place_); }

  fs::path place_;
};

fs::path layer_of(const SystemLayer& layer) { return fs::path(layer.etc()).parent_path(); }

TEST_F(SystemLayerTest, IsMadeOnce) {
  const auto first = SystemLayer::take();
  const auto second = SystemLayer::take();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->etc(), second->etc());
  EXPECT_TRUE(fs::exists(first->etc() + "/pam.d"));
}

TEST_F(SystemLayerTest, HoldsNothingThatNotEverybodyMayRead) {
  const auto layer = SystemLayer::take();
  ASSERT_TRUE(layer);
  EXPECT_FALSE(fs::exists(layer->etc() + "/shadow"));
  EXPECT_FALSE(fs::exists(layer->etc() + "/sudoers"));
  for (const auto& entry : fs::recursive_directory_iterator(
           layer->etc(), fs::directory_options::skip_permission_denied)) {
    const fs::path source = "/etc" / entry.path().lexically_relative(layer->etc());
    if (entry.is_regular_file() && !entry.is_symlink()) {
      EXPECT_NE(fs::status(source).permissions() & fs::perms::others_read, fs::perms::none)
          << source;
    }
  }
}

TEST_F(SystemLayerTest, IsMadeAnewWhenASourceIsAnother) {
  auto first = SystemLayer::take();
  ASSERT_TRUE(first);
  const fs::path old = layer_of(*first);
  // As if the first file that was noted had changed since.
  std::fstream sources(old / "sources", std::ios::in | std::ios::out | std::ios::binary);
  sources.seekp(8);
  sources.put('x').flush();
  const auto second = SystemLayer::take();
  ASSERT_TRUE(second);
  EXPECT_NE(layer_of(*second), old);
  EXPECT_TRUE(fs::exists(first->etc())) << "somebody has it";

  first = SystemLayer();  // Nobody has it any more; it goes with the next that is made.
  std::ofstream(layer_of(*second) / "sources", std::ios::trunc) << "x";
  const auto third = SystemLayer::take();
  ASSERT_TRUE(third);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(second->etc()));
}

}  // namespace
}  // namespace glovebox
