// SPDX-License-Identifier: Apache-2.0
#include "volume/mounted_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>

#include "volume/image_file.h"

namespace glovebox {
namespace {

class MountedImages : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/glovebox-images-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    if (const auto usable = images_usable(); !usable) {
      GTEST_SKIP() << usable.error().message();
    }
    const auto made = make_image(path("image"), {16_MiB, 64}, path("stock"));
    ASSERT_TRUE(made) << made.error().message();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

  [[nodiscard]] std::shared_ptr<MountedImage> open(const std::string& name) const {
    auto opened = MountedImage::open(path(name));
    EXPECT_TRUE(opened) << opened.error().message();
    return opened ? opened.value() : nullptr;
  }

  std::string directory_;
};

bool write_at(int directory, const std::string& name, const std::string& text, bool flush) {
  const UniqueFd file(
      ::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  return file &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         (!flush || (::fsync(file.get()) == 0 && ::fsync(directory) == 0));
}

std::string read_at(int directory, const std::string& name) {
  const UniqueFd file(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(1 << 16, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

TEST_F(MountedImages, KeepTheirFilesBeyondTheirMounts) {
  {
    const auto image = open("image");
    ASSERT_TRUE(write_at(image->root_fd(), "kept", "here", false));
  }
  EXPECT_EQ(read_at(open("image")->root_fd(), "kept"), "here");
}

TEST_F(MountedImages, AreInNoMountTable) {
  const auto image = open("image");
  std::ifstream file("/proc/self/mountinfo");
  const std::string table((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(table.empty());
  EXPECT_EQ(table.find("/dev/loop"), std::string::npos);
}

TEST_F(MountedImages, AreNeverAttachedTwice) {
  const auto image = open("image");
  const auto second = attach_loop(path("image"), std::chrono::milliseconds(20));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kConflict);
}

TEST_F(MountedImages, AreOneFileSystemInAllTheirMounts) {
  const auto image = open("image");
  const auto first = image->mount(MountedImage::Access::kWrite);
  const auto second = image->mount(MountedImage::Access::kRead);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second) << second.error().message();
  ASSERT_TRUE(write_at(first->get(), "shared", "text", false));
  EXPECT_EQ(read_at(second->get(), "shared"), "text");
  EXPECT_LT(::openat(second->get(), "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), 0);
  EXPECT_EQ(errno, EROFS);
  struct statvfs status {};
  ASSERT_EQ(::fstatvfs(first->get(), &status), 0);
  EXPECT_EQ(status.f_flag & (ST_NOSUID | ST_NODEV), static_cast<unsigned>(ST_NOSUID | ST_NODEV));
}

TEST_F(MountedImages, OfFilesThatOthersCanWriteAreRefused) {
  ASSERT_EQ(::chmod(path("image").c_str(), 0660), 0);
  const auto opened = MountedImage::open(path("image"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kRefused);
}

TEST_F(MountedImages, OfGarbageAreAnErrorAndLeaveNoDevice) {
  ASSERT_EQ(::truncate(path("image").c_str(), 0), 0);
  ASSERT_EQ(::truncate(path("image").c_str(), 8 << 20), 0);
  ASSERT_FALSE(MountedImage::open(path("image")));
  // Given back at once: else it could not be attached again.
  EXPECT_TRUE(attach_loop(path("image"), std::chrono::seconds(10)));
}

TEST_F(MountedImages, CopyWhatWasWrittenBeforeWhileOthersGoOn) {
  const auto image = open("image");
  ASSERT_TRUE(write_at(image->root_fd(), "before", "the copy", false));
  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      written += write_at(image->root_fd(), "busy", std::string(4096, static_cast<char>(i)), false);
    }
  });
  while (written < 10) {
    std::this_thread::yield();
  }
  const auto copied = image->copy(path("copy"));
  stop = true;
  writer.join();
  ASSERT_TRUE(copied) << copied.error().message();
  EXPECT_EQ(read_at(open("copy")->root_fd(), "before"), "the copy");
}

// What the disk holds at any moment after a flush is what a loss of power leaves of it: here it is
// copied under a file system that has much in memory, and that knows nothing of the copy.
TEST_F(MountedImages, HoldFlushedFilesWhenThePowerFails) {
  constexpr int kFiles = 16;
  const auto image = open("image");
  std::mutex between_writes;
  std::atomic<bool> stop = false;
  std::atomic<int> flushed = 0;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      const std::string number = std::to_string(i % kFiles);
      {
        const std::scoped_lock lock(between_writes);
        (void)write_at(image->root_fd(), "unflushed" + number, std::string(20'000, 'x'), false);
      }
      const std::scoped_lock lock(between_writes);
      flushed += write_at(image->root_fd(), "file" + number, "content " + std::to_string(i), true);
    }
  });
  for (int round = 0; round < 5; ++round) {
    const int before = flushed;
    while (flushed < before + 3) {
      std::this_thread::yield();
    }
    const std::string name = "lost" + std::to_string(round);
    int last = 0;
    {
      const std::scoped_lock lock(between_writes);
      ASSERT_TRUE(copy_image(path("image"), path(name)));
      last = flushed - 1;
    }
    const auto found = open(name);
    for (int i = std::max(0, last - kFiles + 1); i <= last; ++i) {
      EXPECT_EQ(read_at(found->root_fd(), "file" + std::to_string(i % kFiles)),
                "content " + std::to_string(i));
    }
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace glovebox
