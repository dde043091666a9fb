// SPDX-License-Identifier: Apache-2.0
#include "base/archive/archive_reader.h"

#include <archive.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/archive/tar_stream.h"
#include "base/sys/memory_file.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t kPlenty = 1U << 20;

// An archive of files with these names and contents.
std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string bytes;
  TarStream stream([&bytes](std::string_view piece) -> Result<void> {
    bytes += piece;
    return {};
  });
  for (const auto& [name, content] : files) {
    struct stat status {};
    status.st_mode = S_IFREG | 0755;
    status.st_size = static_cast<off_t>(content.size());
    status.st_blocks = status.st_size / 512 + 1;
    status.st_mtim = {.tv_sec = 1'000, .tv_nsec = 5};
    const UniqueFd file = sys::memory_file(content).value();
    EXPECT_TRUE(stream.add_file(name, status, file.get()));
  }
  EXPECT_TRUE(stream.finish());
  return bytes;
}

// One that is fed with `bytes`, `piece` of them at a time, and then fails with `end`, if that is
// given.
Result<ArchiveReader> reader_of(std::string bytes,
                                std::size_t piece = 4096,
                                std::optional<Error> end = std::nullopt) {
  std::string given;
  const auto feed = [=]() mutable -> Result<std::string_view> {
    if (bytes.empty() && end) {
      return *end;
    }
    given = bytes.substr(0, piece);
    bytes.erase(0, piece);
    return std::string_view(given);
  };
  return ArchiveReader::open(feed, {::archive_read_support_format_tar}, "read it");
}

TEST(CleanEntryNameTest, TakesOutWhatLeadsNowhere) {
  for (const auto& [name, clean] :
       std::vector<std::pair<std::string, std::string>>{{"a", "a"},
                                                        {"./a//b/./c/", "a/b/c"},
                                                        {".", ""},
                                                        {"./", ""},
                                                        {"/", ""},
                                                        {"/a", "a"},
                                                        {"..a/b../...", "..a/b../..."}}) {
    EXPECT_EQ(clean_entry_name(name).value(), clean) << name;
  }
}

TEST(CleanEntryNameTest, RefusesWhatLeadsUpAndWhatIsNoName) {
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("a/.."), std::string("/../a"),
        std::string("a/../b"), std::string(4096, 'a')}) {
    const auto clean = clean_entry_name(name);
    ASSERT_FALSE(clean) << name;
    EXPECT_EQ(clean.error().code(), ErrorCode::kInvalid);
  }
}

TEST(ArchiveReaderTest, GivesEveryEntryWithItsContentHoweverItIsFed) {
  const std::string bytes = tar_of({{"one", "1"}, {"two", std::string(3000, '2')}});
  for (const std::size_t piece : {std::size_t{1}, std::size_t{513}, bytes.size()}) {
    ArchiveReader reader = reader_of(bytes, piece).value();
    ArchiveEntry entry;
    std::vector<std::string> found;
    while (reader.next(entry).value()) {
      std::uint64_t left = kPlenty;
      std::string content;
      EXPECT_TRUE(reader
                      .read_content(kPlenty, left,
                                    [&](std::uint64_t offset, std::string_view part) {
                                      EXPECT_EQ(offset, content.size());
                                      content += part;
                                      return Result<void>();
                                    })
                      .value());
      EXPECT_EQ(entry.kind, ArchiveEntry::Kind::kFile);
      EXPECT_EQ(entry.mode, 0755U);
      EXPECT_EQ(entry.size, content.size());
      EXPECT_EQ(entry.modified->tv_sec, 1'000);
      EXPECT_EQ(left, kPlenty - content.size());
      found.push_back(entry.name + " " + std::to_string(content.size()));
    }
    EXPECT_THAT(found, ElementsAre("one 1", "two 3000"));
  }
}

TEST(ArchiveReaderTest, CopiesNoMoreThanIsLeftOverAllEntries) {
  ArchiveReader reader = reader_of(tar_of({{"a", "12345"}, {"b", "12345"}})).value();
  ArchiveEntry entry;
  std::uint64_t left = 9;
  ASSERT_TRUE(reader.next(entry).value());
  const UniqueFd a = sys::memory_file().value();
  EXPECT_TRUE(reader.copy_content(entry, a.get(), kPlenty, left).value());
  ASSERT_TRUE(reader.next(entry).value());
  const UniqueFd b = sys::memory_file().value();
  EXPECT_FALSE(reader.copy_content(entry, b.get(), kPlenty, left).value());
  EXPECT_EQ(left, 4U);
}

TEST(ArchiveReaderTest, CopiesNoFileThatIsLongerThanAllowed) {
  ArchiveReader reader = reader_of(tar_of({{"a", "12345"}})).value();
  ArchiveEntry entry;
  std::uint64_t left = kPlenty;
  ASSERT_TRUE(reader.next(entry).value());
  const UniqueFd file = sys::memory_file().value();
  EXPECT_FALSE(reader.copy_content(entry, file.get(), 4, left).value());
}

TEST(ArchiveReaderTest, SaysWhichEntryCannotBeReadAndWhatCannotBeWritten) {
  const std::string bytes = tar_of({{"a", std::string(5000, 'a')}});
  ArchiveReader cut = reader_of(bytes.substr(0, 3000)).value();
  ArchiveEntry entry;
  ASSERT_TRUE(cut.next(entry).value());
  std::uint64_t left = kPlenty;
  const UniqueFd file = sys::memory_file().value();
  const auto unread = cut.copy_content(entry, file.get(), kPlenty, left);
  ASSERT_FALSE(unread);
  EXPECT_THAT(unread.error().message(), StartsWith("read it: entry 'a': "));
  EXPECT_EQ(unread.error().os_error(), 0);

  ArchiveReader whole = reader_of(bytes).value();
  ASSERT_TRUE(whole.next(entry).value());
  const auto unwritten = whole.copy_content(entry, -1, kPlenty, left);
  ASSERT_FALSE(unwritten);
  EXPECT_THAT(unwritten.error().message(), HasSubstr("write 'a'"));
  EXPECT_EQ(unwritten.error().os_error(), EBADF);
}

TEST(ArchiveReaderTest, FailsWithWhatItsFeedFailsWith) {
  const std::string bytes = tar_of({{"a", std::string(5000, 'a')}});
  const Error lost(ErrorCode::kConflict, "the client canceled the upload");
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{3000}}) {
    const auto failed = [&]() -> Result<void> {
      ArchiveReader reader = GB_TRY(reader_of(bytes.substr(0, size), 4096, lost));
      ArchiveEntry entry;
      (void)GB_TRY(reader.next(entry));
      std::uint64_t left = kPlenty;
      const UniqueFd file = GB_TRY(sys::memory_file());
      (void)GB_TRY(reader.copy_content(entry, file.get(), kPlenty, left));
      return {};
    }();
    ASSERT_FALSE(failed) << size;
    EXPECT_EQ(failed.error().message(), lost.message());
    EXPECT_EQ(failed.error().code(), lost.code());
  }
}

}  // namespace
}  // namespace glovebox
