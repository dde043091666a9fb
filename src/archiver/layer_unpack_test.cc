// SPDX-License-Identifier: Apache-2.0
#include "archiver/layer_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/sys/tree.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct Item {
  enum class Kind { kFile, kDirectory, kSymlink, kHardlink, kDevice };
  Kind kind = Kind::kFile;
  std::string name;
  std::string text;  // Or where a link leads.
  mode_t mode = 0644;
};

Item file(std::string name, std::string text = "x", mode_t mode = 0644) {
  return {Item::Kind::kFile, std::move(name), std::move(text), mode};
}
Item directory(std::string name) { return {Item::Kind::kDirectory, std::move(name), "", 0755}; }
Item symlink_to(std::string name, std::string target) {
  return {Item::Kind::kSymlink, std::move(name), std::move(target), 0777};
}
Item hardlink_to(std::string name, std::string target) {
  return {Item::Kind::kHardlink, std::move(name), std::move(target), 0644};
}
Item device(std::string name) { return {Item::Kind::kDevice, std::move(name), "", 0666}; }

enum class Compression { kNone, kGzip, kZstd };

UniqueFd tar_of(const std::vector<Item>& items, Compression compression = Compression::kNone) {
  UniqueFd fd(::memfd_create("layer", MFD_CLOEXEC));
  struct archive* const writer = ::archive_write_new();
  (void)::archive_write_set_format_pax_restricted(writer);
  if (compression == Compression::kGzip) {
    (void)::archive_write_add_filter_gzip(writer);
  } else if (compression == Compression::kZstd) {
    (void)::archive_write_add_filter_zstd(writer);
  }
  (void)::archive_write_open_fd(writer, fd.get());
  for (const Item& item : items) {
    struct archive_entry* const entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, item.name.c_str());
    ::archive_entry_set_perm(entry, item.mode);
    ::archive_entry_set_filetype(entry, AE_IFREG);
    switch (item.kind) {
      case Item::Kind::kFile:
        ::archive_entry_set_size(entry, static_cast<la_int64_t>(item.text.size()));
        break;
      case Item::Kind::kDirectory:
        ::archive_entry_set_filetype(entry, AE_IFDIR);
        break;
      case Item::Kind::kSymlink:
        ::archive_entry_set_filetype(entry, AE_IFLNK);
        ::archive_entry_set_symlink(entry, item.text.c_str());
        break;
      case Item::Kind::kHardlink:
        ::archive_entry_set_hardlink(entry, item.text.c_str());
        break;
      case Item::Kind::kDevice:
        ::archive_entry_set_filetype(entry, AE_IFCHR);
        ::archive_entry_set_rdev(entry, 0x0103);
        break;
    }
    (void)::archive_write_header(writer, entry);
    if (item.kind == Item::Kind::kFile) {
      (void)::archive_write_data(writer, item.text.data(), item.text.size());
    }
    ::archive_entry_free(entry);
  }
  (void)::archive_write_close(writer);
  (void)::archive_write_free(writer);
  return fd;
}

class LayerUnpackTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    fs::create_directories(root());
    fs::create_directories(outside());
    fd_ = UniqueFd(::open(root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { (void)sys::remove_tree(directory_); }

  [[nodiscard]] std::string root() const { return directory_ + "/root"; }
  [[nodiscard]] std::string outside() const { return directory_ + "/outside"; }

  Result<void> unpack(const std::vector<std::vector<Item>>& layers, UnpackBounds bounds = {}) {
    LayerUnpacker unpacker(fd_.get(), bounds, nullptr);
    for (const auto& layer : layers) {
      const UniqueFd tar = tar_of(layer);
      GB_TRY(unpacker.unpack(tar.get()));
    }
    left_out_ = unpacker.left_out();
    return {};
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(root() + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] bool there(const std::string& name) const {
    return fs::exists(fs::symlink_status(root() + "/" + name));
  }
  [[nodiscard]] bool nothing_outside() const { return fs::is_empty(outside()); }

  std::string directory_ = testing::TempDir() + "unpack-XXXXXX";
  UniqueFd fd_;
  std::size_t left_out_ = 0;
};

TEST_F(LayerUnpackTest, FilesDirectoriesAndLinksBecomeWhatTheyAre) {
  ASSERT_TRUE(
      unpack({{directory("./usr/"), file("usr/bin/tool", "run", 0700), symlink_to("bin", "usr/bin"),
               hardlink_to("usr/bin/same", "usr/bin/tool")}}));
  EXPECT_EQ(text("bin/same"), "run");
  EXPECT_EQ(fs::read_symlink(root() + "/bin"), "usr/bin");
}

TEST_F(LayerUnpackTest, GzipAndZstdAreRead) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    LayerUnpacker unpacker(fd_.get(), {}, nullptr);
    const UniqueFd tar = tar_of({file("f", "packed")}, compression);
    const auto unpacked = unpacker.unpack(tar.get());
    ASSERT_TRUE(unpacked) << unpacked.error().message();
    EXPECT_EQ(text("f"), "packed");
  }
}

TEST_F(LayerUnpackTest, NoSetuidBitAndNoDeviceComesOutAndAllCanBeRead) {
  ASSERT_TRUE(unpack({{file("su", "x", 06755), file("secret", "x", 0600), device("null")}}));
  struct stat status {};
  ASSERT_EQ(::stat((root() + "/su").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
  ASSERT_EQ(::stat((root() + "/secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0644U);
  EXPECT_FALSE(there("null"));
  EXPECT_EQ(left_out_, 1U);
}

TEST_F(LayerUnpackTest, WhiteoutsHideWhatIsBelowAndNothingOfTheirOwnLayer) {
  ASSERT_TRUE(unpack({{file("a/one"), file("a/two"), file("b/old"), directory("c"), file("c/f")},
                      {file("a/.wh.one", ""), file("b/new"), file("b/.wh..wh..opq", ""),
                       file(".wh.c", ""), file("c", "now a file")}}));
  EXPECT_FALSE(there("a/one"));
  EXPECT_TRUE(there("a/two"));
  EXPECT_FALSE(there("b/old"));
  EXPECT_TRUE(there("b/new"));
  EXPECT_EQ(text("c"), "now a file");
  EXPECT_FALSE(there("b/.wh..wh..opq"));
}

TEST_F(LayerUnpackTest, AWhiteoutNamesNothingAbove) {
  std::ofstream(outside() + "/kept") << "x";
  ASSERT_TRUE(unpack({{symlink_to("out", outside())},
                      {file("out/.wh.kept", ""), file(".wh...", ""), file(".wh..", "")}}));
  EXPECT_TRUE(fs::exists(outside() + "/kept"));
  EXPECT_TRUE(fs::exists(root()));
}

TEST_F(LayerUnpackTest, ALayerWritesThroughALinkOfTheLayerBelowButStaysInside) {
  ASSERT_TRUE(unpack({{directory("usr/lib"), symlink_to("lib", "usr/lib"),
                       symlink_to("abs", "/usr/lib"), symlink_to("up", "../../../../usr/lib")},
                      {file("lib/a"), file("abs/b"), file("up/c")}}));
  EXPECT_TRUE(there("usr/lib/a"));
  EXPECT_TRUE(there("usr/lib/b"));
  EXPECT_TRUE(there("usr/lib/c"));
}

TEST_F(LayerUnpackTest, NothingIsWrittenOutside) {
  const std::vector<std::vector<Item>> layers = {
      {symlink_to("out", outside()), file("out/f")},
      {symlink_to("rel", "../outside"), file("rel/f")},
      {symlink_to("f", outside() + "/f"), file("f")},
      {symlink_to("d", outside()), directory("d"), file("d/f")},
      {symlink_to("l", outside()), symlink_to("l/in", "x")},
      {symlink_to("h", outside()), file("real"), hardlink_to("h/f", "real")},
      {file("/" + outside() + "/f")},
  };
  for (const auto& layer : layers) {
    (void)unpack({layer});
    EXPECT_TRUE(nothing_outside()) << layer.back().name;
  }
}

TEST_F(LayerUnpackTest, NamesThatClimbAreRefused) {
  for (const char* const name : {"../f", "a/../../f", "..", "a/.."}) {
    const auto unpacked = unpack({{file(name)}});
    ASSERT_FALSE(unpacked) << name;
    EXPECT_THAT(unpacked.error().message(), HasSubstr("..")) << name;
  }
}

TEST_F(LayerUnpackTest, AHardLinkLeadsToAFileOfTheImageAlone) {
  std::ofstream(outside() + "/secret") << "secret";
  for (const Item& link :
       {hardlink_to("f", outside() + "/secret"), hardlink_to("f", "../outside/secret"),
        hardlink_to("f", "missing"), hardlink_to("f", "/")}) {
    EXPECT_FALSE(unpack({{link}})) << link.text;
    EXPECT_FALSE(there("f"));
  }
  // Through a link of the image, which leads nowhere outside.
  EXPECT_FALSE(unpack({{symlink_to("out", outside()), hardlink_to("f", "out/secret")}}));
}

TEST_F(LayerUnpackTest, AnImageThatIsTooLargeIsRefused) {
  const auto bytes = unpack({{file("a", std::string(600, 'a')), file("b", std::string(600, 'b'))}},
                            {.bytes = 1000, .entries = 10});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code(), ErrorCode::kExhausted);
  const auto layers =
      unpack({{file("a", std::string(600, 'a'))}, {file("b", std::string(600, 'b'))}},
             {.bytes = 1000, .entries = 10});
  EXPECT_FALSE(layers);
  const auto entries = unpack({{file("a"), file("b"), file("c")}}, {.bytes = 1000, .entries = 2});
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code(), ErrorCode::kExhausted);
}

TEST_F(LayerUnpackTest, AFileMayTakeAllThatIsLeft) {
  const std::string text(1U << 20U, 'x');
  const UniqueFd layer = tar_of({file("whole", text)});
  LayerUnpacker unpacker(fd_.get(), {.bytes = text.size(), .entries = 1}, nullptr);
  const auto unpacked = unpacker.unpack(layer.get());
  EXPECT_TRUE(unpacked) << (unpacked ? "" : unpacked.error().message());
  EXPECT_EQ(unpacker.left().bytes, 0U);
}

TEST_F(LayerUnpackTest, ABombOfZerosIsRefusedBeforeItIsWritten) {
  const UniqueFd bomb = tar_of({file("zeros", std::string(8UL << 20, '\0'))}, Compression::kGzip);
  LayerUnpacker unpacker(fd_.get(), {.bytes = 1UL << 20, .entries = 10}, nullptr);
  const auto unpacked = unpacker.unpack(bomb.get());
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().code(), ErrorCode::kExhausted);
  EXPECT_FALSE(there("zeros"));
}

TEST_F(LayerUnpackTest, ItEndsWhenItIsNotWantedAnyMore) {
  LayerUnpacker unpacker(fd_.get(), {}, [] { return false; });
  const UniqueFd tar = tar_of({file("f")});
  const auto unpacked = unpacker.unpack(tar.get());
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().code(), ErrorCode::kUnavailable);
}

TEST_F(LayerUnpackTest, WhatIsNoTarIsRefused) {
  const UniqueFd fd(::memfd_create("layer", MFD_CLOEXEC));
  ASSERT_EQ(::write(fd.get(), "no tar at all, by no means", 26), 26);
  LayerUnpacker unpacker(fd_.get(), {}, nullptr);
  EXPECT_FALSE(unpacker.unpack(fd.get()));
}

}  // namespace
}  // namespace glovebox
