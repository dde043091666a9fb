// SPDX-License-Identifier: Apache-2.0
#include "volume/image_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace glovebox {
namespace {

constexpr ImageShape kShape = {64_MiB, 100};

class ImagePools : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/glovebox-pool-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    for (const char* const part : {"images", "workspaces"}) {
      std::filesystem::create_directory(directory_ + "/" + part);
    }
    if (const auto usable = pool_usable(); !usable) {
      GTEST_SKIP() << usable.error().message();
    }
    pool_.emplace(directory_);
  }
  void TearDown() override {
    pool_.reset();
    std::filesystem::remove_all(directory_);
  }

  [[nodiscard]] std::string image(const std::string& name) const {
    return directory_ + "/workspaces/" + name;
  }
  std::shared_ptr<MountedImage> open(const std::string& name) {
    auto opened = pool_->open(image(name));
    EXPECT_TRUE(opened) << opened.error().message();
    return opened ? opened.value() : nullptr;
  }
  std::shared_ptr<MountedImage> make(const std::string& name) {
    const auto made = pool_->make(image(name), kShape);
    EXPECT_TRUE(made) << made.error().message();
    return made ? open(name) : nullptr;
  }
  // Bytes that the pool takes of its disk.
  [[nodiscard]] std::uint64_t taken() const {
    const UniqueFd file(::open((directory_ + "/pool.img").c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    return ::fsync(file.get()) == 0 && ::fstat(file.get(), &status) == 0
               ? static_cast<std::uint64_t>(status.st_blocks) * 512
               : 0;
  }

  std::string directory_;
  std::optional<ImagePool> pool_;
};

bool write_at(const MountedImage& image, const std::string& name, const std::string& text) {
  const UniqueFd file(
      ::openat(image.root_fd(), name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string read_at(const MountedImage& image, const std::string& name) {
  const UniqueFd file(::openat(image.root_fd(), name.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(1 << 16, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

TEST_F(ImagePools, AreNotMountedWhereAnotherHasMadeThem) {
  const std::string file = directory_ + "/pool.img";
  std::ofstream(file) << "x";
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  const auto made = pool_->make(image("one"), kShape);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kRefused) << made.error().message();
}

TEST_F(ImagePools, AreNotMadeForAnEmptyFileThatIsRemoved) {
  std::ofstream(image("empty")).flush();
  const auto removed = pool_->remove(image("empty"));
  EXPECT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(std::filesystem::exists(image("empty")));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/pool.img"));
}

TEST_F(ImagePools, CopyAnImageInUseAndShareWhatDidNotChange) {
  const auto first = make("first");
  ASSERT_TRUE(first);
  ASSERT_TRUE(write_at(*first, "big", std::string(32U << 20U, 'x')));
  ASSERT_TRUE(write_at(*first, "file", "before"));
  ASSERT_TRUE(first->flush());
  const std::uint64_t before = taken();
  ASSERT_GT(before, 32U << 20U);
  for (int i = 0; i < 8; ++i) {
    const auto copied = pool_->copy(image("first"), image("copy" + std::to_string(i)), first.get());
    ASSERT_TRUE(copied) << copied.error().message();
  }
  EXPECT_LT(taken() - before, 8U << 20U);
  // What stands for it says what it would take alone.
  EXPECT_GT(image_use(image("copy0")), 32U << 20U);

  const auto copy = open("copy0");
  ASSERT_TRUE(copy);
  ASSERT_TRUE(write_at(*copy, "file", "changed in the copy"));
  ASSERT_TRUE(write_at(*first, "file", "changed in the first"));
  EXPECT_EQ(read_at(*copy, "file"), "changed in the copy");
  EXPECT_EQ(read_at(*first, "file"), "changed in the first");
  EXPECT_EQ(read_at(*open("copy1"), "file"), "before");
}

TEST_F(ImagePools, CopyOfAnImageThatOthersWriteToWhatWasFlushed) {
  constexpr int kFiles = 8;
  const auto first = make("first");
  ASSERT_TRUE(first);
  std::atomic<bool> stop = false;
  std::atomic<int> flushed = 0;
  std::thread writer([&] {
    for (int i = 0; !stop && i < 100'000; ++i) {
      const std::string number = std::to_string(i % kFiles);
      (void)write_at(*first, "unflushed" + number, std::string(20'000, 'x'));
      const UniqueFd file(::openat(first->root_fd(), ("file" + number + ".new").c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
      const std::string text = std::to_string(i);
      if (::write(file.get(), text.data(), text.size()) < 0 || ::fsync(file.get()) != 0 ||
          ::renameat(first->root_fd(), ("file" + number + ".new").c_str(), first->root_fd(),
                     ("file" + number).c_str()) != 0) {
        break;
      }
      flushed = i + 1;
    }
  });
  for (int round = 0; round < 5; ++round) {
    while (flushed < (round + 2) * kFiles) {
      std::this_thread::yield();
    }
    const int before = flushed;
    const std::string name = "copy" + std::to_string(round);
    const auto copied = pool_->copy(image("first"), image(name), first.get());
    EXPECT_TRUE(copied) << copied.error().message();
    const auto copy = open(name);
    for (int i = before - kFiles; copy && i < before; ++i) {
      const std::string file = "file" + std::to_string(i % kFiles);
      const std::string text = read_at(*copy, file);
      EXPECT_EQ(text.find_first_not_of("0123456789"), text.npos) << file;
      EXPECT_GE(std::atoi(text.c_str()), i) << file;
    }
  }
  stop = true;
  writer.join();
}

TEST_F(ImagePools, KeepTheirImagesWhenTheyAreOpenedAgain) {
  ASSERT_TRUE(write_at(*make("lasting"), "file", "kept"));
  pool_.emplace(directory_);
  EXPECT_EQ(read_at(*open("lasting"), "file"), "kept");
}

TEST_F(ImagePools, KeepAnImageWhoseFileABackupHasFilled) {
  ASSERT_TRUE(write_at(*make("kept"), "file", "kept"));
  const auto size = std::filesystem::file_size(image("kept"));
  pool_.emplace(directory_);
  { std::ofstream(image("kept")) << std::string(8192, '\0'); }
  ASSERT_TRUE(make("other"));  // Opens the pool.
  std::filesystem::resize_file(image("kept"), 0);
  std::filesystem::resize_file(image("kept"), size);
  EXPECT_EQ(read_at(*open("kept"), "file"), "kept");
}

TEST_F(ImagePools, UseImagesOfTheTimeBeforeThemAndTakeTheirCopiesIn) {
  ASSERT_TRUE(make_image(image("old"), kShape, directory_ + "/images"));
  const auto old = open("old");
  ASSERT_TRUE(write_at(*old, "file", "old"));
  ASSERT_TRUE(pool_->copy(image("old"), image("new"), old.get()));
  struct stat status {};
  ASSERT_EQ(::stat(image("new").c_str(), &status), 0);
  EXPECT_EQ(status.st_blocks, 0);
  EXPECT_EQ(read_at(*open("new"), "file"), "old");
}

TEST_F(ImagePools, GiveBackWhatIsRemovedAlsoWhileItIsInUse) {
  const auto used = make("used");
  ASSERT_TRUE(write_at(*used, "file", "text"));
  ASSERT_TRUE(pool_->remove(image("used")));
  EXPECT_EQ(read_at(*used, "file"), "text");
  EXPECT_FALSE(std::filesystem::exists(image("used")));
  EXPECT_TRUE(pool_->remove(image("used")));
  // Under the same name there can be another at once.
  EXPECT_EQ(read_at(*make("used"), "file"), "");
}

TEST_F(ImagePools, NeverOverwriteAnImage) {
  ASSERT_TRUE(write_at(*make("first"), "file", "text"));
  const auto again = pool_->make(image("first"), kShape);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kConflict);
  EXPECT_FALSE(pool_->copy(image("first"), image("first"), nullptr));
  EXPECT_EQ(read_at(*open("first"), "file"), "text");
}

TEST_F(ImagePools, DropWhatNothingStandsForWhenTheyAreOpened) {
  ASSERT_TRUE(make("lost"));
  ASSERT_TRUE(make("kept"));
  ASSERT_EQ(::unlink(image("lost").c_str()), 0);
  pool_.emplace(directory_);
  ASSERT_TRUE(open("kept"));
  // As a file of that name shows, which stands for nothing.
  ASSERT_TRUE(create_image_file(image("lost")));
  EXPECT_FALSE(pool_->open(image("lost")));
}

}  // namespace
}  // namespace glovebox
