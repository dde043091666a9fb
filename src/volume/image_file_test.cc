// SPDX-License-Identifier: Apache-2.0
#include "volume/image_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>

#include "base/unique_fd.h"
#include "volume/mounted_image.h"

namespace glovebox {
namespace {

class ImageFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/glovebox-images-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void write(const std::string& name, off_t at, const std::string& text) {
    const UniqueFd file(::open(path(name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::pwrite(file.get(), text.data(), text.size(), at),
              static_cast<ssize_t>(text.size()));
  }

  std::string directory_;
};

std::uint64_t allocated(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512
                                            : 0;
}

TEST_F(ImageFiles, CopiesHoldTheSameBytesAndHolesStayHoles) {
  write("from", 0, "begin");
  write("from", 300 << 20, "end");
  ASSERT_TRUE(copy_image(path("from"), path("to")));
  ASSERT_EQ(std::filesystem::file_size(path("to")), (300U << 20U) + 3U);
  const UniqueFd file(::open(path("to").c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(5, '\0');
  ASSERT_EQ(::pread(file.get(), text.data(), 5, 0), 5);
  EXPECT_EQ(text, "begin");
  ASSERT_EQ(::pread(file.get(), text.data(), 5, 300 << 20), 3);
  EXPECT_EQ(text.substr(0, 3), "end");
  EXPECT_LT(allocated(path("to")), 1U << 20U);
}

TEST_F(ImageFiles, AreNotOverwrittenByACopy) {
  write("from", 0, "new");
  write("to", 0, "old");
  const auto copied = copy_image(path("from"), path("to"));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(std::filesystem::file_size(path("to")), 3U);
}

TEST_F(ImageFiles, ACopyThatTakesTooLongIsGivenUp) {
  write("from", 0, std::string(64 << 10, 'x'));
  const UniqueFd from(::open(path("from").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd to(::open(path("to").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const int answer = copy_contents(from.get(), to.get(), 0);
  // A file system that clones needs no time.
  EXPECT_TRUE(answer == ETIMEDOUT || answer == 0) << answer;
}

// What needs loop devices.
class Images : public ImageFiles {
 protected:
  void SetUp() override {
    ImageFiles::SetUp();
    if (const auto usable = images_usable(); !usable) {
      GTEST_SKIP() << usable.error().message();
    }
  }
};

TEST_F(Images, HoldAtLeastWhatWasAskedForAndLittleMore) {
  for (const ImageShape shape : {ImageShape{4_MiB, 16}, ImageShape{10_MiB, 200},
                                 ImageShape{300_MiB, 100'000}, ImageShape{2_GiB, 50'000}}) {
    SCOPED_TRACE(to_string(shape.size));
    const std::string image = path(std::to_string(shape.size.count));
    ASSERT_TRUE(make_image(image, shape, path("stock")));
    const auto mounted = MountedImage::open(image);
    ASSERT_TRUE(mounted) << mounted.error().message();
    const auto use = mounted.value()->use();
    ASSERT_TRUE(use);
    EXPECT_GE(use->free, shape.size);
    EXPECT_LE(use->free.count, shape.size.count + shape.size.count / 20 + (2U << 20U));
    EXPECT_GE(use->inodes_free, shape.inodes);
    EXPECT_LE(use->inodes_free, shape.inodes + shape.inodes / 10 + 512U);
    EXPECT_LT(allocated(image), 8U << 20U);
  }
}

TEST_F(Images, OfOneShapeAreMadeOnce) {
  ASSERT_TRUE(make_image(path("a"), {8_MiB, 64}, path("stock")));
  ASSERT_TRUE(make_image(path("b"), {8_MiB, 64}, path("stock")));
  const std::filesystem::directory_iterator stock(path("stock"));
  EXPECT_EQ(std::distance(begin(stock), end(stock)), 1);
  EXPECT_EQ(std::filesystem::status(path("b")).permissions(), std::filesystem::perms(0600));
}

TEST_F(Images, OfImpossibleShapesAreRefused) {
  for (const ImageShape shape :
       {ImageShape{1_MiB, 100}, ImageShape{4_MiB, 0}, ImageShape{2048_GiB, 100},
        ImageShape{4_MiB, std::numeric_limits<std::uint32_t>::max()}}) {
    const auto made = make_image(path("a"), shape, path("stock"));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), ErrorCode::kInvalid);
  }
}

}  // namespace
}  // namespace glovebox
