// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "base/archive/tar_stream.h"
#include "base/digest/digest.h"

namespace glovebox::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An archive as a sandbox would send it.
class Archive {
 public:
  Archive()
      : tar_([this](std::string_view bytes) {
          text_ += bytes;
          return Result<void>();
        }) {}

  Archive& file(const std::string& path, std::string_view content, mode_t mode = 0644) {
    struct stat status {};
    status.st_mode = S_IFREG | mode;
    status.st_size = static_cast<off_t>(content.size());
    EXPECT_TRUE(tar_.begin_file(path, status));
    text_ += content;
    EXPECT_TRUE(tar_.end_file(status));
    return *this;
  }
  Archive& link(const std::string& path, std::string_view target) {
    struct stat status {};
    status.st_mode = S_IFLNK | 0777;
    EXPECT_TRUE(tar_.add_link(path, status, target));
    return *this;
  }
  Archive& hard_link(const std::string& path, std::string_view target) {
    struct stat status {};
    status.st_mode = S_IFREG | 0644;
    EXPECT_TRUE(tar_.add_hard_link(path, status, target));
    return *this;
  }

  Result<Changes> compared(const CheckoutFiles& before,
                           const FilesInside& inside = {},
                           const ChangeLimits& limits = {}) {
    EXPECT_TRUE(tar_.finish());
    const UniqueFd fd(::memfd_create("archive", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), text_.data(), text_.size()), static_cast<ssize_t>(text_.size()));
    (void)::lseek(fd.get(), 0, SEEK_SET);
    return read_changes(fd.get(), before, inside, limits);
  }

 private:
  std::string text_;
  TarStream tar_;
};

CheckoutFile file_with(std::string_view content, bool executable = false) {
  return {.executable = executable, .digest = sha256_hex(content)};
}

std::vector<std::string> described(const Changes& changes) {
  std::vector<std::string> found;
  for (const Change& change : changes.changes) {
    found.push_back(std::string(1, "AMD"[static_cast<int>(change.kind)]) + " " + change.path);
  }
  for (const LeftBehind& each : changes.left_behind) {
    found.push_back("- " + each.path);
  }
  return found;
}

TEST(Changes, AreWhatWasAddedModifiedAndDeleted) {
  const CheckoutFiles before = {{"gone", file_with("x")},
                                {"mode", file_with("x")},
                                {"same", file_with("x")},
                                {"text", file_with("x")}};
  const auto changes = Archive()
                           .file("mode", "x", 0755)
                           .file("new", "")
                           .file("same", "x")
                           .file("text", "y")
                           .compared(before);
  ASSERT_TRUE(changes);
  EXPECT_THAT(described(*changes), ElementsAre("D gone", "M mode", "A new", "M text"));
  EXPECT_TRUE(changes->changes[1].executable);
  EXPECT_EQ(changes->changes[3].content, "y");
}

TEST(Changes, OfFilesThatGitIgnoresDoNotCountUnlessTheyWereCopied) {
  const FilesInside inside{.counted = std::set<std::string>{"new", "kept/"}};
  const auto changes = Archive()
                           .file("new", "x")
                           .file("node_modules/a.js", "x")
                           .file("was", "y")
                           .compared({{"was", file_with("x")}}, inside);
  ASSERT_TRUE(changes);
  EXPECT_THAT(described(*changes), ElementsAre("A new", "M was", "- kept/"));
}

TEST(Changes, NeverReachGitsOwnDirectory) {
  const auto changes = Archive()
                           .file(".git/hooks/pre-commit", "x")
                           .file("sub/.git/config", "x")
                           .file("sub/.git/HEAD", "x")
                           .file("a/.GIT/config", "x")
                           .file("GIT~1/config", "x")
                           .file(".git /config", "x")
                           .file(".g\xE2\x80\x8Cit/config", "x")
                           .link("link", ".git/config")
                           .compared({});
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->changes.empty());
  EXPECT_EQ(changes->left_behind.size(), 6U);
}

TEST(Changes, OfHostileNamesAreLeftBehind) {
  for (const char* const name :
       {"../out", "/etc/passwd", "a/../../out", "a//b", "a/./b", "new\nline", "\x1b[2J", "\xff"}) {
    const auto changes = Archive().file(name, "x").compared({});
    ASSERT_TRUE(changes) << name;
    EXPECT_TRUE(changes->changes.empty()) << name;
    EXPECT_EQ(changes->left_behind.size(), 1U) << name;
  }
}

TEST(Changes, OfOtherKindsAreLeftBehindAndDeleteNothing) {
  FilesInside inside;
  inside.special = {"fifo"};
  const auto changes = Archive()
                           .hard_link("hard", "fifo")
                           .compared({{"fifo", file_with("x")}, {"hard", file_with("x")}}, inside);
  ASSERT_TRUE(changes);
  EXPECT_THAT(described(*changes), ElementsAre("- fifo", "- hard"));
}

TEST(Changes, OfLargeFilesAreLeftBehind) {
  const auto changes =
      Archive().file("large", "12345").file("small", "1").compared({}, {}, {.file = 4});
  ASSERT_TRUE(changes);
  EXPECT_THAT(described(*changes), ElementsAre("A small", "- large"));
}

TEST(Changes, BeyondTheLimitsAreAnError) {
  Archive many;
  for (int i = 0; i < 20; ++i) {
    many.file(std::to_string(i), "x");
  }
  const auto changes = many.compared({}, {}, {.changes = 10});
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().code(), ErrorCode::kExhausted);
  EXPECT_FALSE(Archive().file("a", "123").file("b", "123").compared({}, {}, {.content = 5}));
  EXPECT_FALSE(Archive().file("a", "1").file("b", "1").compared({}, {}, {.entries = 1}));
}

TEST(Changes, OfAnArchiveThatEndsEarlyAreNone) {
  const UniqueFd fd(::memfd_create("archive", MFD_CLOEXEC));
  std::string half(700, 'x');
  ASSERT_EQ(::write(fd.get(), half.data(), half.size()), 700);
  (void)::lseek(fd.get(), 0, SEEK_SET);
  EXPECT_FALSE(read_changes(fd.get(), {{"kept", file_with("x")}}, {}, {}));
}

TEST(Links, OnlyLeadToFilesOfTheCheckout) {
  EXPECT_FALSE(link_problem("a/b", "../c"));
  EXPECT_FALSE(link_problem("a/b", ".."));
  EXPECT_FALSE(link_problem("b", "c/d"));
  for (const auto& [path, target] :
       std::initializer_list<std::pair<const char*, const char*>>{{"b", "/etc/passwd"},
                                                                  {"b", "../c"},
                                                                  {"a/b", "../../c"},
                                                                  {"b", "c/../../d"},
                                                                  {"b", ""},
                                                                  {"a/b", "c/.."},
                                                                  {"b", ".git/config"},
                                                                  {"a/b", "../.git"},
                                                                  {"b", "a\nb"}}) {
    EXPECT_TRUE(link_problem(path, target)) << path << " -> " << target;
  }
}

}  // namespace
}  // namespace glovebox::cli
