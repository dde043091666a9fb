// SPDX-License-Identifier: Apache-2.0
#include "service/templates/image_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "base/archive/tar.h"
#include "base/sys/tree.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

UniqueFd file_of(std::string_view text) {
  UniqueFd fd(::memfd_create("file", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(::fchmod(fd.get(), 0600), 0);
  return fd;
}

UniqueFd tar_of(const std::string& name, std::string_view text) {
  UniqueFd fd(::memfd_create("tar", MFD_CLOEXEC));
  TarWriter writer = *TarWriter::create(fd.get());
  EXPECT_TRUE(writer.add_file(name, file_of(text).get()));
  EXPECT_TRUE(writer.add_symlink("link", "/etc/passwd"));
  EXPECT_TRUE(writer.finish());
  return fd;
}

class ImageReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    root_ = UniqueFd(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { (void)sys::remove_tree(directory_); }

  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(directory_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string directory_ = testing::TempDir() + "image-XXXXXX";
  UniqueFd root_;
};

TEST_F(ImageReaderTest, LayersGoOnTopOfEachOtherAndShareTheirBounds) {
  UnpackBounds left{.bytes = 1000, .entries = 10};
  const UniqueFd first = tar_of("usr/a", "one");
  const UniqueFd second = tar_of("usr/.wh.a", "");
  ASSERT_TRUE(unpack_layer(first.get(), root_.get(), left, nullptr));
  EXPECT_EQ(text("usr/a"), "one");
  EXPECT_EQ(left.bytes, 997U);
  EXPECT_EQ(left.entries, 8U);
  ASSERT_TRUE(unpack_layer(second.get(), root_.get(), left, nullptr));
  EXPECT_NE(::access((directory_ + "/usr/a").c_str(), F_OK), 0);
  EXPECT_EQ(left.entries, 7U);
}

TEST_F(ImageReaderTest, WhatIsMadeIsOursAndReadableForGuests) {
  const mode_t before = ::umask(077);
  UnpackBounds left;
  const UniqueFd layer = tar_of("usr/a", "one");
  const auto unpacked = unpack_layer(layer.get(), root_.get(), left, nullptr);
  (void)::umask(before);
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  struct stat status {};
  ASSERT_EQ(::stat((directory_ + "/usr").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
  EXPECT_EQ(status.st_uid, ::geteuid());
  ASSERT_EQ(::stat((directory_ + "/usr/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0644U);
  EXPECT_EQ(status.st_uid, ::geteuid());
}

TEST_F(ImageReaderTest, WhatIsTooLargeOrNoArchiveIsRefusedWithItsCode) {
  UnpackBounds small{.bytes = 10, .entries = 10};
  const UniqueFd large = tar_of("a", std::string(100, 'x'));
  const auto too_large = unpack_layer(large.get(), root_.get(), small, nullptr);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code(), ErrorCode::kInvalid);
  UnpackBounds left;
  const UniqueFd broken = file_of("this is no archive, whatever else it is");
  const auto refused = unpack_layer(broken.get(), root_.get(), left, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalid);
}

TEST_F(ImageReaderTest, AnArchiveOfAnImageMayHoldNoLinks) {
  const UniqueFd archive = tar_of("manifest.json", "[]");
  const auto unpacked = unpack_archive_of_image(archive.get(), root_.get(), {}, nullptr);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(text("manifest.json"), "[]");
}

TEST_F(ImageReaderTest, ItEndsWhenItIsNotWantedAnyMore) {
  UnpackBounds left;
  const UniqueFd layer = tar_of("a", "x");
  const auto unpacked = unpack_layer(layer.get(), root_.get(), left, [] { return false; });
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace glovebox
