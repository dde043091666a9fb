// SPDX-License-Identifier: Apache-2.0
#include "service/templates/image_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/tree.h"
#include "service/templates/build_monitor.h"
#include "service/templates/content_store.h"

namespace glovebox {
namespace {

namespace fs = std::filesystem;

class ImageLayerTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { (void)sys::remove_tree(directory_); }

  // A piece of the store with these files.
  static std::string piece(const ContentStore& store,
                           const std::string& key,
                           const std::vector<std::string>& files) {
    auto draft = store.begin();
    EXPECT_TRUE(draft);
    for (const std::string& name : files) {
      const fs::path path = fs::path(draft->path()) / name;
      fs::create_directories(path.parent_path());
      std::ofstream(path) << name;
    }
    EXPECT_TRUE(store.commit(*std::move(draft), key));
    return key;
  }

  // The names of a tar's entries, where they are short.
  static std::vector<std::string> names_in(const std::string& archive) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at + 512 <= archive.size() && archive[at] != '\0';) {
      names.emplace_back(archive.c_str() + at);
      const std::size_t size = std::stoul(archive.substr(at + 124, 11), nullptr, 8);
      at += 512 + (size + 511) / 512 * 512;
    }
    return names;
  }

  std::string directory_ = testing::TempDir() + "layer-XXXXXX";
};

TEST_F(ImageLayerTest, HoldsWhatSandboxesShowOfATemplate) {
  const auto store = ContentStore::open(directory_ + "/store");
  ASSERT_TRUE(store);
  TemplateParts parts;
  parts.root = piece(*store, "a",
                     {"root/usr/a", "root/opt/tool/b", "root/opt/glovebox/hidden",
                      "root/home/hidden", "root/file"});
  fs::create_directory_symlink("usr/bin", store->path_of("a") + "/root/bin");
  parts.layers = {{.manager = PackageManager::kPip, .key = piece(*store, "b", {"files/module"})}};
  BuildMonitor monitor([](const BuildEvent&) { return true; },
                       {.spend = [](std::uint64_t) { return Result<void>(); }});
  const auto draft = store->begin();
  ASSERT_TRUE(draft);
  const auto layer = ImageLayer::open(parts, *store, *draft, monitor);
  ASSERT_TRUE(layer) << layer.error().message();
  std::string archive;
  const auto written = layer->write([&archive](std::string_view bytes) -> Result<void> {
    archive += bytes;
    return {};
  });
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_THAT(names_in(archive),
              testing::ElementsAre("bin", "dev/", "home/", "opt/", "opt/glovebox/",
                                   "opt/glovebox/layers/", "opt/glovebox/layers/b/",
                                   "opt/glovebox/layers/b/module", "opt/tool/", "opt/tool/b",
                                   "proc/", "run/", "sys/", "tmp/", "usr/", "usr/a", "workspace/"));
}

}  // namespace
}  // namespace glovebox
