// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/archive/tar.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using namespace std::string_literals;

namespace fs = std::filesystem;

UniqueFd memory_file(std::string_view content, unsigned mode = 0644) {
  UniqueFd fd(::memfd_create("file", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(::fchmod(fd.get(), mode), 0);
  return fd;
}

// An archive that is written, and a directory to read it back to.
class TarWriterTest : public ::testing::Test {
 protected:
  TarWriterTest()
      : archive_(memory_file("")), tar_(std::move(TarWriter::create(archive_.get())).value()) {
    std::string path = ::testing::TempDir() + "glovebox-tar-writer-XXXXXX";
    directory_ = ::mkdtemp(path.data());
  }
  void TearDown() override { fs::remove_all(directory_); }

  TarWriter& tar() { return tar_; }

  Result<void> read_back() {
    GB_TRY(tar_.finish());
    EXPECT_EQ(::lseek(archive_.get(), 0, SEEK_SET), 0);
    const UniqueFd directory(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return extract_tar(archive_.get(), directory.get(), {.symlinks = true, .max_bytes = 1U << 24},
                       nullptr);
  }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream stream(directory_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] unsigned mode_of(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(::lstat((directory_ / name).c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  [[nodiscard]] const fs::path& directory() const { return directory_; }

 private:
  UniqueFd archive_;
  TarWriter tar_;
  fs::path directory_;
};

TEST_F(TarWriterTest, WritesWhatExtractionReadsBack) {
  const std::string large(200'001, 'x');
  ASSERT_TRUE(tar().add_directory("empty", 0700));
  ASSERT_TRUE(tar().add_file("program", memory_file("text", 0755).get()));
  ASSERT_TRUE(tar().add_file("d/large", memory_file(large).get()));
  ASSERT_TRUE(tar().add_symlink("link", "/any/target"));
  ASSERT_TRUE(read_back());

  EXPECT_TRUE(fs::is_directory(directory() / "empty"));
  EXPECT_EQ(text_of("program"), "text");
  EXPECT_EQ(mode_of("program"), 0755U);
  EXPECT_EQ(text_of("d/large"), large);
  EXPECT_EQ(fs::read_symlink(directory() / "link"), "/any/target");
}

TEST_F(TarWriterTest, WritesAnEmptyArchiveThatCanBeRead) {
  ASSERT_TRUE(read_back());

  EXPECT_TRUE(fs::is_empty(directory()));
}

TEST_F(TarWriterTest, KeepsNamesOfAnyBytesAndLength) {
  std::string path;
  for (int i = 0; i < 10; ++i) {
    path += std::string(200, 'd') + "/";
  }
  for (const std::string& name : {"line\nbreak"s, "\x1b[2J"s, "caf\xC3\xA9"s, "\xFF\xFE"s, " "s,
                                  "-rf"s, "a\\b"s, std::string(255, '\xFF'), path + "file"}) {
    ASSERT_TRUE(tar().add_file(name, memory_file(name).get())) << ::testing::PrintToString(name);
  }
  ASSERT_TRUE(read_back());

  for (const std::string& name : {"line\nbreak"s, "\x1b[2J"s, "caf\xC3\xA9"s, "\xFF\xFE"s, " "s,
                                  "-rf"s, "a\\b"s, std::string(255, '\xFF'), path + "file"}) {
    EXPECT_EQ(text_of(name), name) << ::testing::PrintToString(name);
  }
}

TEST_F(TarWriterTest, KeepsTargetsOfAnyBytesAndLength) {
  const std::string longest(1000, '\xFF');
  ASSERT_TRUE(tar().add_symlink("long", longest));
  ASSERT_TRUE(tar().add_symlink("caf\xC3\xA9", "\xC3\xA9/../\xFF"));
  ASSERT_TRUE(read_back());

  EXPECT_EQ(fs::read_symlink(directory() / "long"), longest);
  EXPECT_EQ(fs::read_symlink(directory() / "caf\xC3\xA9"), "\xC3\xA9/../\xFF");
}

TEST_F(TarWriterTest, WritesNoSpecialModeBits) {
  ASSERT_TRUE(tar().add_file("program", memory_file("", 06755).get()));
  ASSERT_TRUE(read_back());

  EXPECT_EQ(mode_of("program"), 0755U);
}

TEST_F(TarWriterTest, FillsAFileThatGivesLessThanItsSizeWithZeros) {
  const UniqueFd short_file = memory_file("0123456789");
  ASSERT_EQ(::lseek(short_file.get(), 6, SEEK_SET), 6);

  ASSERT_TRUE(tar().add_file("short", short_file.get()));
  ASSERT_TRUE(tar().add_file("next", memory_file("next").get()));
  ASSERT_TRUE(read_back());

  EXPECT_EQ(text_of("short"), "6789\0\0\0\0\0\0"s);
  EXPECT_EQ(text_of("next"), "next");
}

TEST_F(TarWriterTest, CutsAFileThatGivesMoreThanItsSize) {
  // Files of /proc say that they are empty, and are not.
  const UniqueFd proc(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));

  ASSERT_TRUE(tar().add_file("status", proc.get()));
  ASSERT_TRUE(tar().add_file("next", memory_file("next").get()));
  ASSERT_TRUE(read_back());

  EXPECT_EQ(text_of("status"), "");
  EXPECT_EQ(text_of("next"), "next");
}

TEST_F(TarWriterTest, RefusesAFileThatIsNotOpen) { EXPECT_FALSE(tar().add_file("none", -1)); }

TEST_F(TarWriterTest, FailsWhereAFileCannotBeRead) {
  const UniqueFd unreadable(::open(directory().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  ASSERT_TRUE(unreadable);
  ASSERT_EQ(::ftruncate(unreadable.get(), 10), 0);

  EXPECT_FALSE(tar().add_file("unreadable", unreadable.get()));
}

TEST(TarWriterToFullDiskTest, FailsWhereTheArchiveCannotBeWritten) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  auto tar = TarWriter::create(full.get());
  ASSERT_TRUE(tar);

  const auto added = tar->add_file("file", memory_file(std::string(100'000, 'x')).get());

  EXPECT_TRUE(!added || !tar->finish());
}

}  // namespace
}  // namespace glovebox
