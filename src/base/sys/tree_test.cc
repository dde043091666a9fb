// SPDX-License-Identifier: Apache-2.0
#include "base/sys/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace glovebox::sys {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kUser = 65534;
constexpr uid_t kGuest = 65533;

// Acts as an ordinary user for as long as it lives; root may do anything.
class AsUser {
 public:
  AsUser() : was_(::geteuid()) { EXPECT_TRUE(was_ != 0 || ::seteuid(kUser) == 0); }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
  ~AsUser() { EXPECT_EQ(::seteuid(was_), 0); }

 private:
  uid_t was_;
};

// A directory "tree" of the user, to be removed, and a file "kept" beside it.
class RemoveTreeTest : public ::testing::Test {
 protected:
  RemoveTreeTest() {
    std::string path = ::testing::TempDir() + "glovebox-tree-XXXXXX";
    root_ = ::mkdtemp(path.data());
    fs::create_directory(tree());
    std::ofstream(kept()) << "kept";
    if (::geteuid() == 0) {
      for (const fs::path& each : {root_, tree(), kept()}) {
        EXPECT_EQ(::lchown(each.c_str(), kUser, kUser), 0);
      }
    }
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  [[nodiscard]] fs::path tree() const { return root_ / "tree"; }
  [[nodiscard]] fs::path kept() const { return root_ / "kept"; }
  [[nodiscard]] fs::path root() const { return root_; }

 private:
  fs::path root_;
};

// Nests directories deeper than any path may be long.
void nest(const fs::path& top, const std::string& first, int depth) {
  UniqueFd at(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < depth; ++level) {
    const char* const name = level == 0 ? first.c_str() : "a-directory";
    ASSERT_EQ(::mkdirat(at.get(), name, 0700), 0);
    at = UniqueFd(::openat(at.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
}

TEST_F(RemoveTreeTest, RemovesFilesAndDirectories) {
  fs::create_directories(tree() / "a/b/c");
  fs::create_directories(tree() / "empty");
  std::ofstream(tree() / "a/b/file") << "text";
  std::ofstream(tree() / ".hidden") << "text";
  std::ofstream(tree() / "line\nbreak \xff -rf") << "text";

  ASSERT_TRUE(remove_tree(tree()));

  EXPECT_FALSE(fs::exists(tree()));
  EXPECT_TRUE(fs::exists(kept()));
}

TEST_F(RemoveTreeTest, TakesAMissingDirectoryForRemoved) {
  EXPECT_TRUE(remove_tree(tree() / "none"));
}

TEST_F(RemoveTreeTest, RemovesLinksAndNotWhatTheyLeadTo) {
  fs::create_directory(root() / "other");
  std::ofstream(root() / "other/file") << "text";
  fs::create_symlink(root() / "other", tree() / "directory");
  fs::create_symlink(kept(), tree() / "file");
  fs::create_symlink(tree(), tree() / "loop");
  fs::create_hard_link(kept(), tree() / "hard");

  ASSERT_TRUE(remove_tree(tree()));

  EXPECT_FALSE(fs::exists(tree()));
  EXPECT_TRUE(fs::exists(root() / "other/file"));
  EXPECT_EQ(fs::file_size(kept()), 4U);
}

TEST_F(RemoveTreeTest, RefusesATopThatIsALinkOrAFile) {
  fs::create_directory(root() / "other");
  std::ofstream(root() / "other/file") << "text";
  fs::create_symlink(root() / "other", root() / "link");

  EXPECT_FALSE(remove_tree(root() / "link"));
  EXPECT_FALSE(remove_tree(kept()));

  EXPECT_TRUE(fs::exists(root() / "other/file"));
  EXPECT_TRUE(fs::exists(kept()));
}

TEST_F(RemoveTreeTest, RemovesFifosAndSocketsWithoutOpeningThem) {
  ASSERT_EQ(::mkfifo((tree() / "pipe").c_str(), 0000), 0);
  ASSERT_EQ(::mknod((tree() / "socket").c_str(), S_IFSOCK | 0600, 0), 0);

  ASSERT_TRUE(remove_tree(tree()));

  EXPECT_FALSE(fs::exists(tree()));
}

TEST_F(RemoveTreeTest, RemovesDirectoriesThatWereMadeUnreadable) {
  {
    const AsUser user;
    fs::create_directories(tree() / "a/b");
    std::ofstream(tree() / "a/b/file") << "text";
    fs::create_directory(tree() / "a/full");
    std::ofstream(tree() / "a/full/file") << "text";
    fs::permissions(tree() / "a/full", fs::perms::owner_read | fs::perms::owner_exec);
    fs::permissions(tree() / "a/b", fs::perms::none);
    fs::permissions(tree() / "a", fs::perms::owner_read);

    EXPECT_TRUE(remove_tree(tree()));
  }
  EXPECT_FALSE(fs::exists(tree()));
}

TEST_F(RemoveTreeTest, RemovesATopThatWasMadeUnreadable) {
  for (const fs::perms mode : {fs::perms::none, fs::perms::owner_read | fs::perms::owner_exec}) {
    const AsUser user;
    fs::create_directories(tree() / "a");
    fs::permissions(tree(), mode);

    const auto removed = remove_tree(tree());
    EXPECT_TRUE(removed) << removed.error().message();
    if (!removed) {
      fs::permissions(tree(), fs::perms::owner_all);
    }
  }
}

TEST_F(RemoveTreeTest, RemovesATreeDeeperThanItsDescriptors) {
  nest(tree(), "a-directory", 1000);

  const auto removed = remove_tree(tree());

  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(fs::exists(tree()));
}

TEST_F(RemoveTreeTest, RemovesADeepTreeWhateverTheGuestHasNamedIt) {
  nest(tree(), "deep.1", 300);
  std::ofstream(tree() / "deep.2") << "text";

  const auto removed = remove_tree(tree());

  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(fs::exists(tree()));
}

TEST_F(RemoveTreeTest, RemovesAWideTree) {
  for (int i = 0; i < 3000; ++i) {
    std::ofstream(tree() / std::to_string(i)) << i;
  }

  ASSERT_TRUE(remove_tree(tree()));

  EXPECT_FALSE(fs::exists(tree()));
}

TEST_F(RemoveTreeTest, RemovesWhatAppearsMeanwhile) {
  for (int i = 0; i < 2'000; ++i) {
    std::ofstream(tree() / std::to_string(i)) << i;
  }
  std::atomic<bool> started = false;
  std::atomic<bool> over = false;
  std::thread writer([&] {
    // Writes during the first round only: each further one would race with it again.
    for (int i = 0; fs::exists(tree() / "1000") && !over; ++i) {
      const std::string name = tree() / ("new" + std::to_string(i));
      UniqueFd(::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      started = true;
    }
  });
  while (!started) {
    std::this_thread::yield();
  }
  const auto removed = remove_tree(tree());
  over = true;
  writer.join();
  EXPECT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(fs::exists(tree()));
}

// In a sticky directory of somebody else even a link cannot be removed. What it leads to is not
// the guest's to change for that.
TEST_F(RemoveTreeTest, ChangesNoModeThroughALinkThatStays) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root, to make files of two users";
  }
  fs::create_directory(tree() / "sticky");
  fs::create_symlink(kept(), tree() / "sticky/link");
  ASSERT_EQ(::chmod((tree() / "sticky").c_str(), 01777), 0);
  ASSERT_EQ(::lchown((tree() / "sticky").c_str(), kGuest, kGuest), 0);
  ASSERT_EQ(::lchown((tree() / "sticky/link").c_str(), kGuest, kGuest), 0);
  ASSERT_EQ(::chmod(kept().c_str(), 0644), 0);
  {
    const AsUser user;
    EXPECT_FALSE(remove_tree(tree()));
  }

  struct stat status {};
  ASSERT_EQ(::stat(kept().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644U);
}

}  // namespace
}  // namespace glovebox::sys
