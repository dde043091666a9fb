// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/change_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ChangeText, IsWhatGitWouldWrite) {
  const CheckoutFile before{};
  const Change change{.path = "a.txt", .content = "1\n2\n3\nfour\n5\n6\n7\n8\n9\n"};
  const ChangeText text = change_text(change, &before, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  EXPECT_EQ(text.patch,
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n"
            "@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n");
  EXPECT_EQ(text.added, 1U);
  EXPECT_EQ(text.removed, 1U);
}

TEST(ChangeText, FarChangesAreHunksOfTheirOwnAndNearOnesOne) {
  std::string old;
  for (int i = 1; i <= 30; ++i) {
    old += std::to_string(i) + "\n";
  }
  std::string now = old;
  now.replace(now.find("\n2\n"), 3, "\ntwo\n");
  now.replace(now.find("\n6\n"), 3, "\nsix\n");
  now.replace(now.find("\n28\n"), 4, "\n");
  const CheckoutFile before{};
  const std::string patch = change_text({.path = "n", .content = now}, &before, old).patch;
  EXPECT_THAT(patch, HasSubstr("@@ -1,9 +1,9 @@\n 1\n-2\n+two\n"));
  EXPECT_THAT(patch, HasSubstr("@@ -25,6 +25,5 @@\n 25\n 26\n 27\n-28\n 29\n 30\n"));
}

TEST(ChangeText, NewAndDeletedFilesAndModesAreNamed) {
  EXPECT_EQ(
      change_text({.path = "n", .kind = Change::Kind::kAdded, .executable = true, .content = "x"},
                  nullptr, "")
          .patch,
      "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n"
      "+x\n\\ No newline at end of file\n");
  const CheckoutFile before{};
  EXPECT_EQ(change_text({.path = "n", .kind = Change::Kind::kDeleted}, &before, "x\n").patch,
            "diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n"
            "@@ -1 +0,0 @@\n-x\n");
  EXPECT_EQ(change_text({.path = "n", .executable = true, .content = "x"}, &before, "x").patch,
            "diff --git a/n b/n\nold mode 100644\nnew mode 100755\n");
}

TEST(ChangeText, BinaryContentIsNotShown) {
  const CheckoutFile before{};
  const ChangeText text =
      change_text({.path = "n", .content = std::string("\0x", 2)}, &before, "y");
  EXPECT_TRUE(text.binary);
  EXPECT_THAT(text.patch, HasSubstr("Binary files a/n and b/n differ\n"));
  EXPECT_THAT(text.patch, Not(HasSubstr("@@")));
}

TEST(ChangeText, NothingInItMovesTheCursorOrTurnsTheText) {
  const std::string patch = "+\x1b]0;title\a\x1b[2Jx\r\n+\xE2\x80\xAEtxt\n+a\tb\n";
  const std::string shown = shown_patch(patch, false);
  EXPECT_EQ(shown, "+\\x1b]0;title\\x07\\x1b[2Jx\\x0d\n+\\u202etxt\n+a\tb\n");
  EXPECT_EQ(shown_patch("+a\n", true), "\x1b[32m+a\x1b[0m\n");
}

TEST(ChangeText, ALongLineIsCutWithItsLength) {
  const std::string shown = shown_patch("+" + std::string(10'000, 'x') + "\n", false);
  EXPECT_LT(shown.size(), 600U);
  EXPECT_THAT(shown, HasSubstr("(10001 bytes)"));
}

}  // namespace
}  // namespace glovebox::cli
