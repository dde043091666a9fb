// SPDX-License-Identifier: Apache-2.0
#include "service/judge/only_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/archive/tar_stream.h"
#include "base/unique_fd.h"

namespace glovebox::judge {
namespace {

// As the archiver packs a sandbox's changes.
class Packed {
 public:
  Packed& file(const std::string& path, const std::string& content) {
    const UniqueFd fd(::memfd_create("x", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), content.data(), content.size()), std::ssize(content));
    EXPECT_EQ(::fchmod(fd.get(), 0755), 0);
    struct stat status {};
    EXPECT_EQ(::fstat(fd.get(), &status), 0);
    EXPECT_TRUE(stream_.add_file(path, status, fd.get()));
    return *this;
  }
  Packed& link(const std::string& path) {
    struct stat status {};
    status.st_mode = S_IFLNK | 0777;
    EXPECT_TRUE(stream_.add_link(path, status, "/etc/passwd"));
    return *this;
  }
  std::string bytes() {
    EXPECT_TRUE(stream_.finish());
    return bytes_;
  }

 private:
  std::string bytes_;
  TarStream stream_{[this](std::string_view piece) {
    bytes_ += piece;
    return Result<void>();
  }};
};

TEST(OnlyFile, IsFoundWithItsModeAndContent) {
  for (const std::size_t size : {0, 1, 511, 512, 513, 100'000}) {
    const std::string content(size, 'x');
    const std::string archive = Packed().file("main", content).bytes();
    const auto found = only_file(archive);
    ASSERT_TRUE(found) << size;
    EXPECT_EQ(found->name, "main");
    EXPECT_EQ(found->mode, 0755U);
    EXPECT_EQ(found->bytes, content);
  }
}

TEST(OnlyFile, IsNoneWhereThereIsMore) {
  EXPECT_FALSE(only_file(Packed().bytes()));
  EXPECT_FALSE(only_file(Packed().file("a", "1").file("b", "2").bytes()));
  EXPECT_FALSE(only_file(Packed().file("main", "1").link("x").bytes()));
}

TEST(OnlyFile, IsNoneOfAnotherKindOrPlace) {
  EXPECT_FALSE(only_file(Packed().link("main").bytes()));
  for (const char* const name : {"a/b", "/main", "..", ".", ""}) {
    EXPECT_FALSE(only_file(Packed().file(name, "1").bytes())) << name;
  }
  // A name that does not fit, which an extended header has.
  EXPECT_FALSE(only_file(Packed().file(std::string(200, 'n'), "1").bytes()));
}

TEST(OnlyFile, IsNoneOfADamagedArchive) {
  const std::string whole = Packed().file("main", std::string(2'000, 'x')).bytes();
  ASSERT_TRUE(only_file(whole));
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_FALSE(only_file(std::string_view(whole).substr(0, size))) << size;
  }
  EXPECT_FALSE(only_file(whole + "x"));
}

TEST(OnlyFile, IsNoneWhereAHeaderWouldChangeIt) {
  const std::string plain = Packed().file("main", "1").bytes();
  const auto with = [&plain](const std::string& record) {
    std::string header = plain.substr(0, 512);
    header.replace(124, 12, "00000000025 ");
    header[156] = 'x';
    return header + record + std::string(512 - record.size(), '\0') + plain;
  };
  ASSERT_EQ(std::string("21 hdrcharset=BINARY\n").size(), 21U);
  EXPECT_TRUE(only_file(with("21 hdrcharset=BINARY\n")));
  EXPECT_TRUE(only_file(with("21 mtime=1795731421.\n")));
  EXPECT_FALSE(only_file(with("21 path=../etc/passwd\n")));
  EXPECT_FALSE(only_file(with("21 size=0000000000012\n")));
  EXPECT_FALSE(only_file(with("11 mtime=1\n10 path=x\n")));
  EXPECT_FALSE(only_file(with("22 hdrcharset=BINARY\n")));
}

TEST(OnlyFile, SurvivesAnyByteAnywhere) {
  std::string archive = Packed().file("main", "content").bytes();
  for (std::size_t at = 0; at < archive.size(); ++at) {
    for (const char c : {'\0', '7', '\xff'}) {
      const char kept = std::exchange(archive[at], c);
      if (const auto found = only_file(archive)) {
        EXPECT_LE(found->bytes.size(), archive.size());
        EXPECT_EQ(found->name.find('/'), std::string::npos);
      }
      archive[at] = kept;
    }
  }
}

}  // namespace
}  // namespace glovebox::judge
