// SPDX-License-Identifier: Apache-2.0
#include "base/archive/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace glovebox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::string_literals;

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 512;
constexpr TarRules kRules = {.max_bytes = 1U << 20};
constexpr TarRules kRulesWithLinks = {.symlinks = true, .max_bytes = 1U << 20};

// Archives are made by hand here, since no proper writer makes the ones that matter.
std::string end_of_archive() { return std::string(2 * kBlock, '\0'); }

std::string padded(std::string content) {
  content.resize((content.size() + kBlock - 1) / kBlock * kBlock);
  return content;
}

std::string octal(std::uint64_t value, int digits) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%0*llo", digits,
                      static_cast<unsigned long long>(value));
  return text.data();
}

struct Header {
  std::string name;
  char type = '0';
  std::string target = {};
  std::uint64_t size = 0;
  unsigned mode = 0644;
};

// One ustar header.
std::string header(const Header& from) {
  std::string block(kBlock, '\0');
  block.replace(0, from.name.size(), from.name);
  block.replace(100, 7, octal(from.mode, 7));
  block.replace(108, 7, octal(0, 7));
  block.replace(116, 7, octal(0, 7));
  block.replace(124, 11, octal(from.size, 11));
  block.replace(136, 11, octal(0, 11));
  block[156] = from.type;
  block.replace(157, from.target.size(), from.target);
  block.replace(257, 8, "ustar\00000"s);
  block.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char byte : block) {
    sum += static_cast<unsigned char>(byte);
  }
  block.replace(148, 8, octal(sum, 6) + "\0 "s);
  return block;
}

std::string file(const std::string& name, const std::string& content = "", unsigned mode = 0644) {
  return header({.name = name, .size = content.size(), .mode = mode}) + padded(content);
}

std::string directory(const std::string& name) { return header({.name = name, .type = '5'}); }

std::string symlink(const std::string& name, const std::string& target) {
  return header({.name = name, .type = '2', .target = target});
}

// Extended attributes of the next entry, in the form of pax: "length key=value\n".
std::string pax(const std::string& key, const std::string& value) {
  const std::string tail = " " + key + "=" + value + "\n";
  std::size_t size = tail.size();
  while (size != tail.size() + std::to_string(size).size()) {
    size = tail.size() + std::to_string(size).size();
  }
  const std::string record = std::to_string(size) + tail;
  return header({.name = "pax", .type = 'x', .size = record.size()}) + padded(record);
}

std::string gzip(const std::string& bytes) {
  std::string packed(bytes.size() + 4096, '\0');
  std::size_t used = 0;
  struct archive* const writer = ::archive_write_new();
  EXPECT_EQ(::archive_write_set_format_raw(writer), ARCHIVE_OK);
  EXPECT_EQ(::archive_write_add_filter_gzip(writer), ARCHIVE_OK);
  EXPECT_EQ(::archive_write_open_memory(writer, packed.data(), packed.size(), &used), ARCHIVE_OK);
  struct archive_entry* const entry = ::archive_entry_new();
  ::archive_entry_set_filetype(entry, AE_IFREG);
  ::archive_entry_set_pathname(entry, "data");
  EXPECT_EQ(::archive_write_header(writer, entry), ARCHIVE_OK);
  EXPECT_EQ(::archive_write_data(writer, bytes.data(), bytes.size()),
            static_cast<la_ssize_t>(bytes.size()));
  EXPECT_EQ(::archive_write_close(writer), ARCHIVE_OK);
  ::archive_entry_free(entry);
  ::archive_write_free(writer);
  packed.resize(used);
  return packed;
}

UniqueFd memory_file(std::string_view content) {
  UniqueFd fd(::memfd_create("archive", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);
  return fd;
}

// A directory "inside" to extract to, and a file "secret" beside it.
class TarTest : public ::testing::Test {
 protected:
  TarTest() {
    std::string path = ::testing::TempDir() + "glovebox-tar-XXXXXX";
    root_ = ::mkdtemp(path.data());
    fs::create_directory(inside());
    std::ofstream(outside() / "secret") << "secret";
    fd_ = UniqueFd(::open(inside().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { fs::remove_all(root_); }

  Result<void> extract(const std::string& entries, const TarRules& rules = kRules) {
    return extract_bytes(entries + end_of_archive(), rules);
  }
  Result<void> extract_bytes(std::string_view bytes, const TarRules& rules = kRules) {
    made_.clear();
    const UniqueFd input = memory_file(bytes);
    return extract_tar(input.get(), fd_.get(), rules,
                       [this](std::string_view name) { made_.emplace_back(name); });
  }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream stream(inside() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] unsigned mode_of(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(::lstat((inside() / name).c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  [[nodiscard]] bool is_empty() const { return fs::is_empty(inside()); }

  [[nodiscard]] fs::path inside() const { return root_ / "inside"; }
  [[nodiscard]] fs::path outside() const { return root_; }
  [[nodiscard]] const std::vector<std::string>& made() const { return made_; }

 private:
  fs::path root_;
  UniqueFd fd_;
  std::vector<std::string> made_;
};

TEST_F(TarTest, MakesFilesAndDirectoriesAndTellsTheFiles) {
  ASSERT_TRUE(extract(directory("./") + file("./a", "one") + directory("d/") +
                      file("new/parents/b", "two") + file("empty")));

  EXPECT_THAT(made(), ElementsAre("a", "new/parents/b", "empty"));
  EXPECT_EQ(text_of("a"), "one");
  EXPECT_EQ(text_of("new/parents/b"), "two");
  EXPECT_TRUE(fs::is_directory(inside() / "d"));
  EXPECT_EQ(fs::file_size(inside() / "empty"), 0U);
}

TEST_F(TarTest, ReplacesFilesThatAreThere) {
  ASSERT_TRUE(extract(file("a", "a long first text")));
  ASSERT_TRUE(extract(file("a", "short")));

  EXPECT_EQ(text_of("a"), "short");
}

TEST_F(TarTest, RefusesNamesThatLeadOutside) {
  const std::string absolute = (outside() / "new").string();
  for (const std::string& name :
       {absolute, "/" + absolute, "./" + absolute, ".//x"s, "/"s, "../new"s, ".."s, "./.."s,
        "a/../../new"s, "a/.."s, "a/../b"s, "../"s}) {
    for (const std::string& entry : {file(name, "x"), directory(name), symlink(name, "target"),
                                     pax("path", name) + file("a")}) {
      const auto extracted = extract(entry, kRulesWithLinks);
      ASSERT_FALSE(extracted) << name;
      EXPECT_EQ(extracted.error().code(), ErrorCode::kInvalid);
      EXPECT_THAT(extracted.error().message(), HasSubstr("entry '" + name));
    }
  }
  EXPECT_FALSE(fs::exists(outside() / "new"));
  EXPECT_TRUE(is_empty());
}

TEST_F(TarTest, TakesDotsInsideNamesForLetters) {
  ASSERT_TRUE(extract(file("..a", "x") + file("b../...", "y")));

  EXPECT_THAT(made(), ElementsAre("..a", "b../..."));
}

TEST_F(TarTest, RefusesHardLinksToAnything) {
  ASSERT_TRUE(extract(file("a", "text")));

  for (const std::string& target : {"a"s, (outside() / "secret").string(), "../secret"s}) {
    const auto extracted = extract(header({.name = "b", .type = '1', .target = target}));
    ASSERT_FALSE(extracted) << target;
    EXPECT_THAT(extracted.error().message(), HasSubstr("hard links are not accepted"));
  }
  EXPECT_FALSE(fs::exists(inside() / "b"));
}

TEST_F(TarTest, RefusesHardLinksWhoseTargetHasNoNameInThisLocale) {
  for (const std::string& target : {"caf\xC3\xA9"s, "\xFF"s}) {
    EXPECT_FALSE(
        extract(pax("linkpath", target) + header({.name = "b", .type = '1', .target = "a"})))
        << ::testing::PrintToString(target);
  }
  EXPECT_FALSE(fs::exists(inside() / "b"));
}

TEST_F(TarTest, RefusesDevicesAndFifos) {
  for (const char type : {'3', '4', '6'}) {
    const auto extracted = extract(header({.name = "node", .type = type}));
    ASSERT_FALSE(extracted) << type;
    EXPECT_THAT(extracted.error().message(), HasSubstr("entry 'node': only files"));
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(TarTest, RefusesSymbolicLinksUnlessTheRulesAllowThem) {
  EXPECT_FALSE(extract(symlink("link", "target")));
  EXPECT_TRUE(is_empty());

  ASSERT_TRUE(extract(symlink("a/link", "/any/target"), kRulesWithLinks));
  EXPECT_EQ(fs::read_symlink(inside() / "a/link"), "/any/target");
  EXPECT_THAT(made(), IsEmpty());
}

TEST_F(TarTest, MakesSymbolicLinksToNamesOfAnyBytes) {
  const std::string target = "caf\xC3\xA9";

  EXPECT_TRUE(extract(symlink("plain", target), kRulesWithLinks));
  EXPECT_TRUE(extract(pax("linkpath", target) + symlink("extended", "x"), kRulesWithLinks));

  EXPECT_TRUE(fs::is_symlink(inside() / "extended"));
}

TEST_F(TarTest, WritesNothingThroughALinkOfTheArchive) {
  for (const std::string& target : {outside().string(), ".."s, "."s}) {
    const std::string link = symlink("link", target);
    for (const std::string& entry : {file("link/new", "x"), file("link/a/new", "x"),
                                     directory("link/new"), symlink("link/new", "x")}) {
      EXPECT_FALSE(extract(link + entry, kRulesWithLinks)) << target;
      fs::remove(inside() / "link");
    }
  }
  EXPECT_FALSE(fs::exists(outside() / "new"));
  EXPECT_TRUE(is_empty());
}

TEST_F(TarTest, WritesNothingThroughALinkThatIsThere) {
  fs::create_symlink(outside() / "secret", inside() / "link");
  fs::create_symlink(outside() / "new", inside() / "dangling");

  EXPECT_FALSE(extract(file("link", "x")));
  EXPECT_FALSE(extract(file("dangling", "x")));

  EXPECT_EQ(fs::file_size(outside() / "secret"), 6U);
  EXPECT_FALSE(fs::exists(outside() / "new"));
}

TEST_F(TarTest, RefusesADirectoryWhereSomethingElseIs) {
  EXPECT_FALSE(extract(file("a", "x") + directory("a/")));
  EXPECT_FALSE(extract(symlink("b", ".") + directory("b/"), kRulesWithLinks));
}

TEST_F(TarTest, RefusesAnythingButADirectoryUnderTheNameOfTheDirectoryItself) {
  for (const std::string& entry :
       {file(".", "x"), file("./.", "x"), symlink(".", "x"), header({.name = ".", .type = '6'})}) {
    EXPECT_FALSE(extract(entry, kRulesWithLinks));
  }
  EXPECT_TRUE(extract(directory(".") + directory("./")));
}

TEST_F(TarTest, NeitherWaitsForAFifoNorWritesToIt) {
  ASSERT_EQ(::mkfifo((inside() / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(extract(file("pipe", "x")));

  const UniqueFd reader(::open((inside() / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_FALSE(extract(file("pipe", "x")));

  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);
}

TEST_F(TarTest, GivesNoModeBeyondTheMask) {
  ASSERT_TRUE(extract(file("setuid", "", 06755) + file("secret", "", 0000)));
  EXPECT_EQ(mode_of("setuid"), 0755U);
  EXPECT_EQ(mode_of("secret"), 0600U);

  ASSERT_TRUE(extract(file("masked", "", 07777), {.max_bytes = 1, .mode_mask = 0700}));
  EXPECT_EQ(mode_of("masked"), 0700U);
}

TEST_F(TarTest, CountsTheContentOfAllFiles) {
  const std::string archive = file("a", std::string(600, 'a')) + file("b", std::string(400, 'b'));

  EXPECT_TRUE(extract(archive, {.max_bytes = 1000}));

  const auto extracted = extract(archive, {.max_bytes = 999});
  ASSERT_FALSE(extracted);
  EXPECT_EQ(extracted.error().message(), "entry 'b': larger than allowed");
  EXPECT_THAT(made(), ElementsAre("a"));
}

TEST_F(TarTest, StopsABombAtTheLimit) {
  constexpr std::uint64_t kSize = 64U << 20;
  const std::string bomb =
      gzip(header({.name = "bomb", .size = kSize}) + std::string(kSize, '\0') + end_of_archive());
  ASSERT_LT(bomb.size(), kSize / 100);

  const auto extracted = extract_bytes(bomb);

  ASSERT_FALSE(extracted);
  EXPECT_EQ(extracted.error().message(), "entry 'bomb': larger than allowed");
  EXPECT_LE(fs::file_size(inside() / "bomb"), kRules.max_bytes);
}

TEST_F(TarTest, MakesNoSparseFileOverTheLimit) {
  const std::string hole =
      pax("GNU.sparse.size", "1099511627776") + header({.name = "hole", .size = 0});
  const std::string far =
      pax("GNU.sparse.map", "1099511627776,1") + header({.name = "far", .size = 1}) + padded("x");

  EXPECT_FALSE(extract(hole));
  EXPECT_FALSE(extract(far));

  for (const auto& each : fs::directory_iterator(inside())) {
    EXPECT_LE(each.file_size(), kRules.max_bytes) << each.path();
  }
}

TEST_F(TarTest, CountsEntriesOfEveryKind) {
  const std::string three = directory("d/") + file("a") + symlink("l", "x");
  const TarRules rules = {.symlinks = true, .max_bytes = 0, .max_entries = 3};

  EXPECT_TRUE(extract(three, rules));

  const auto extracted = extract(three.substr(0, 2 * kBlock) + file("b") + file("c"), rules);
  ASSERT_FALSE(extracted);
  EXPECT_THAT(extracted.error().message(), HasSubstr("too many entries"));
  EXPECT_FALSE(fs::exists(inside() / "c"));
}

TEST_F(TarTest, RefusesAnArchiveCutInsideAnEntry) {
  const std::string archive = file("a", "one") + file("b", std::string(700, 'b'));
  for (const std::size_t size : {std::size_t{1}, kBlock - 1, kBlock + 1, 2 * kBlock + 1, 3 * kBlock,
                                 3 * kBlock + 699, archive.size() - kBlock}) {
    EXPECT_FALSE(extract_bytes(std::string_view(archive).substr(0, size))) << size;
  }
}

TEST_F(TarTest, RefusesWhatIsNoArchive) {
  std::string forged = file("a", "one");
  forged[148] = '7';  // A digit of the checksum.
  for (const std::string& bytes :
       {"text"s, std::string(4096, 'x'), forged + end_of_archive(), "\x1f\x8b\x08 no gzip"s,
        gzip(file("a", "one") + end_of_archive()).substr(0, 30)}) {
    const auto extracted = extract_bytes(bytes);
    ASSERT_FALSE(extracted) << ::testing::PrintToString(bytes.substr(0, 20));
    EXPECT_EQ(extracted.error().code(), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(is_empty());
}

}  // namespace
}  // namespace glovebox
