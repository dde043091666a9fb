// SPDX-License-Identifier: Apache-2.0
#include "base/archive/tar_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/archive/tar.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

namespace fs = std::filesystem;

struct stat status_of(mode_t mode, std::size_t size) {
  struct stat status {};
  status.st_mode = mode;
  status.st_size = static_cast<off_t>(size);
  return status;
}

TEST(TarStream, FilesInPiecesAreReadBackByOthers) {
  std::string archive;
  TarStream stream([&archive](std::string_view bytes) -> Result<void> {
    archive += bytes;
    return {};
  });
  const std::string text(1000, 'x');
  const std::string name = std::string(150, 'n') + "/file";
  const struct stat status = status_of(0644, text.size());
  ASSERT_TRUE(stream.add_directory(std::string(150, 'n') + "/", status_of(01777, 0)));
  ASSERT_TRUE(stream.begin_file(name, status));
  archive += text.substr(0, 10);
  archive += text.substr(10);
  ASSERT_TRUE(stream.end_file(status));
  ASSERT_TRUE(stream.finish());
  EXPECT_EQ(archive.size() % 512, 0U);

  const UniqueFd file(::memfd_create("archive", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), archive.data(), archive.size()),
            static_cast<ssize_t>(archive.size()));
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  std::string place = testing::TempDir() + "tar-stream-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  const UniqueFd directory(::open(place.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto done =
      extract_tar(file.get(), directory.get(), {.symlinks = true, .max_bytes = 1U << 20}, nullptr);
  std::ifstream read(place + "/" + name);
  const std::string found{std::istreambuf_iterator<char>(read), {}};
  fs::remove_all(place);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(found, text);
}

}  // namespace
}  // namespace glovebox
