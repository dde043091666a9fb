// SPDX-License-Identifier: Apache-2.0
#include "base/sys/beneath.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::sys {
namespace {

namespace fs = std::filesystem;

// A directory "inside" and a file "secret" beside it that no path from inside may reach.
// With the kernel's own call for it, and as on a kernel that does not have it.
enum class Kernel { kWhole, kWithoutOpenat2 };

class BeneathTest : public ::testing::TestWithParam<Kernel> {
 protected:
  void SetUp() override {
    if (GetParam() == Kernel::kWithoutOpenat2) {
      refuse_openat2();
    }
  }

  // For as long as this thread lives, so that these tests come last.
  static void refuse_openat2() {
    std::array<sock_filter, 4> code = {
        {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},  // The number of the call.
         {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_openat2},
         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
    const sock_fprog program{code.size(), code.data()};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), 0);
    ASSERT_EQ(::syscall(SYS_openat2, -1, "", nullptr, 0), -1);
    ASSERT_EQ(errno, ENOSYS);
  }

  BeneathTest() {
    std::string path = ::testing::TempDir() + "glovebox-beneath-XXXXXX";
    root_ = ::mkdtemp(path.data());
    fs::create_directory(root_ / "inside");
    std::ofstream(root_ / "secret") << "secret";
    fd_ = UniqueFd(::open(inside().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] fs::path inside() const { return root_ / "inside"; }
  [[nodiscard]] fs::path outside() const { return root_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  fs::path root_;
  UniqueFd fd_;
};

std::string text_of(const UniqueFd& file) {
  std::array<char, 64> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
}

TEST_P(BeneathTest, OpensFilesBelowTheDirectory) {
  fs::create_directories(inside() / "a/b");
  std::ofstream(inside() / "a/b/file") << "text";

  for (const std::string_view path : {"a/b/file", "./a/./b//file", "a/../a/b/file"}) {
    const auto file = open_beneath(fd(), path, O_RDONLY);
    ASSERT_TRUE(file) << path;
    EXPECT_EQ(text_of(*file), "text");
  }
}

TEST_P(BeneathTest, NeverLeavesTheDirectory) {
  fs::create_directory(inside() / "a");
  const std::string absolute = (outside() / "secret").string();

  for (const std::string& path :
       {std::string("../secret"), std::string("a/../../secret"), std::string("a/../../inside"),
        std::string(".."), absolute, std::string("/"), (inside() / "a").string()}) {
    EXPECT_FALSE(open_beneath(fd(), path, O_RDONLY)) << path;
    EXPECT_FALSE(open_beneath(fd(), path, O_PATH)) << path;
  }
}

TEST_P(BeneathTest, FollowsNoLinkWhereverItIsAndLeads) {
  fs::create_directory(inside() / "a");
  std::ofstream(inside() / "a/file") << "text";
  fs::create_symlink(outside(), inside() / "out");
  fs::create_symlink(outside() / "secret", inside() / "secret");
  fs::create_symlink("a", inside() / "in");
  fs::create_symlink("a/file", inside() / "file");

  for (const std::string_view path : {"out/secret", "secret", "in/file", "file", "out/", "in/."}) {
    EXPECT_FALSE(open_beneath(fd(), path, O_RDONLY)) << path;
    EXPECT_FALSE(open_beneath(fd(), path, O_WRONLY | O_CREAT | O_TRUNC, 0600)) << path;
  }
  EXPECT_EQ(fs::file_size(outside() / "secret"), 6U);
}

TEST_P(BeneathTest, CreatesNothingThroughADanglingLink) {
  fs::create_symlink(outside() / "new", inside() / "link");

  EXPECT_FALSE(open_beneath(fd(), "link", O_WRONLY | O_CREAT, 0600));

  EXPECT_FALSE(fs::exists(outside() / "new"));
}

TEST_P(BeneathTest, FollowsNoMagicLinkOfProc) {
  const UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(open_beneath(proc.get(), std::to_string(::getpid()) + "/stat", O_RDONLY));

  for (const std::string_view name : {"/cwd", "/root/etc", "/exe", "/fd/0"}) {
    EXPECT_FALSE(open_beneath(proc.get(), std::to_string(::getpid()) + std::string(name), O_RDONLY))
        << name;
  }
}

TEST_P(BeneathTest, RefusesPathsThatTheKernelWouldReadOtherwise) {
  std::ofstream(inside() / "file") << "text";

  for (const std::string_view path :
       {std::string_view(), std::string_view("file\0.txt", 9), std::string_view("\0", 1)}) {
    const auto file = open_beneath(fd(), path, O_RDONLY);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), ErrorCode::kInvalid);
  }
}

TEST_P(BeneathTest, DoesNotWaitForAFifo) {
  ASSERT_EQ(::mkfifo((inside() / "pipe").c_str(), 0600), 0);

  EXPECT_TRUE(open_beneath(fd(), "pipe", O_RDONLY));
  EXPECT_FALSE(open_beneath(fd(), "pipe", O_WRONLY));
}

TEST_P(BeneathTest, ClosesWhatItOpenedOnExec) {
  std::ofstream(inside() / "file") << "text";

  for (const int flags : {O_RDONLY, O_PATH}) {
    const auto file = open_beneath(fd(), "file", flags);
    ASSERT_TRUE(file);
    EXPECT_EQ(::fcntl(file->get(), F_GETFD), FD_CLOEXEC);
  }
}

TEST_P(BeneathTest, CreatesFilesWithTheModeThatWasAskedFor) {
  ASSERT_TRUE(open_beneath(fd(), "file", O_WRONLY | O_CREAT, 0600));

  EXPECT_EQ(fs::status(inside() / "file").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_P(BeneathTest, SaysWhatIsMissing) {
  const auto file = open_beneath(fd(), "none", O_RDONLY);

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(file.error().message(), "open none: No such file or directory");
}

TEST_P(BeneathTest, MakesTheParentsButNotTheLastComponent) {
  ASSERT_TRUE(make_parents_beneath(fd(), "a/b/c"));
  ASSERT_TRUE(make_parents_beneath(fd(), "a/b/d/e"));
  ASSERT_TRUE(make_parents_beneath(fd(), "file"));

  EXPECT_TRUE(fs::is_directory(inside() / "a/b/d"));
  EXPECT_FALSE(fs::exists(inside() / "a/b/c"));
  EXPECT_FALSE(fs::exists(inside() / "a/b/d/e"));
  EXPECT_FALSE(fs::exists(inside() / "file"));
}

TEST_P(BeneathTest, MakesNoParentsOutside) {
  fs::create_symlink(outside(), inside() / "out");

  for (const std::string& path : {std::string("../new/file"), std::string("a/../../new/file"),
                                  std::string("out/new/file"), (outside() / "new/file").string()}) {
    EXPECT_FALSE(make_parents_beneath(fd(), path)) << path;
  }
  EXPECT_FALSE(fs::exists(outside() / "new"));
}

TEST_P(BeneathTest, FailsWhereAParentIsNoDirectory) {
  std::ofstream(inside() / "file") << "text";
  fs::create_symlink(".", inside() / "link");

  EXPECT_FALSE(make_parents_beneath(fd(), "file/a"));
  EXPECT_FALSE(make_parents_beneath(fd(), "link/a"));
}

INSTANTIATE_TEST_SUITE_P(Kernels,
                         BeneathTest,
                         ::testing::Values(Kernel::kWhole, Kernel::kWithoutOpenat2),
                         [](const auto& kernel) {
                           return kernel.param == Kernel::kWhole ? "Whole" : "WithoutOpenat2";
                         });

}  // namespace
}  // namespace glovebox::sys
