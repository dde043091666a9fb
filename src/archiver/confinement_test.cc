// SPDX-License-Identifier: Apache-2.0
// What code in an archiver that was taken over can still do: each attack runs in a process that has
// confined itself as the archiver does before it reads an image.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "archiver/filter.h"
#include "base/confined/confine.h"
#include "base/sys/raw.h"
#include "base/sys/tree.h"

namespace glovebox::archiver {
namespace {

constexpr int kNotConfined = 99;
constexpr confined::Bounds kBounds{.memory = 512 << 20, .cpu_seconds = 1, .file_size = 1 << 20};

class ConfinementTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    ASSERT_EQ(::mkdir((directory_ + "/inside").c_str(), 0755), 0);
    touch(directory_ + "/outside", 0644);
    touch(directory_ + "/inside/file", 0644);
  }
  void TearDown() override { (void)sys::remove_tree(directory_); }

  static void touch(const std::string& path, mode_t mode) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    ASSERT_GE(fd, 0);
    (void)::close(fd);
  }

  // How a process ended that confined itself in "inside" and then did this. The attack returns the
  // exit status.
  int status_of(const std::function<int()>& attack, bool only_reads = false) const {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const bool confined =
          ::chdir((directory_ + "/inside").c_str()) == 0 && (!only_reads || give_up_changes()) &&
          confined::confine_self(kBounds, confined::Root::kEnter,
                                 only_reads ? filter_for_reading() : filter_for_roots())
              .has_value();
      ::_exit(confined ? attack() : kNotConfined);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == kNotConfined) << "not confined";
    return status;
  }
  bool is_killed(int signal, const std::function<int()>& attack) const {
    const int status = status_of(attack);
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
  }
  // The errno with which a file cannot be opened; 0 where it can.
  int error_of_opening(const std::string& path, int flags = O_RDONLY) const {
    const int status = status_of(
        [&] { return ::openat(AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0600) < 0 ? errno : 0; });
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string directory_ = testing::TempDir() + "confined-XXXXXX";
};

TEST_F(ConfinementTest, TheDirectoryIsAllThatThereIs) {
  EXPECT_EQ(error_of_opening("file"), 0);
  EXPECT_EQ(error_of_opening("/file"), 0);
  EXPECT_EQ(error_of_opening("new", O_WRONLY | O_CREAT), 0);
  for (const std::string path : {"/etc/passwd", "../outside", "/../outside", "/proc/self/status",
                                 "/proc/1/root/etc/passwd", "/dev/null", "/sys/kernel"}) {
    EXPECT_EQ(error_of_opening(path), ENOENT) << path;
  }
  EXPECT_EQ(error_of_opening(directory_ + "/outside"), ENOENT);
}

TEST_F(ConfinementTest, NoCallThatReachesOutOfItIsThere) {
  const std::vector<std::pair<const char*, std::function<void()>>> attacks = {
      {"socket", [] { (void)::socket(AF_INET, SOCK_STREAM, 0); }},
      {"fork", [] { (void)sys::raw(SYS_fork); }},
      {"clone", [] { (void)sys::raw(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
      {"execve", [] { (void)sys::raw(SYS_execve, "/file", nullptr, nullptr); }},
      {"execveat", [] { (void)sys::raw(SYS_execveat, 0, "", nullptr, nullptr, 0x1000); }},
      {"chroot", [] { (void)sys::raw(SYS_chroot, "."); }},
      {"mount", [] { (void)::mount("none", "/", "tmpfs", 0, nullptr); }},
      {"unshare", [] { (void)::unshare(CLONE_NEWUSER); }},
      {"setns", [] { (void)::setns(0, 0); }},
      {"setuid", [] { (void)sys::raw(SYS_setuid, 0); }},
      {"kill", [] { (void)::kill(::getppid(), SIGSTOP); }},
      {"ptrace", [] { (void)sys::raw(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); }},
      {"process_vm_readv", [] { (void)sys::raw(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0); }},
      {"mknod", [] { (void)::mknod("disk", S_IFBLK | 0600, 0x0800); }},
      {"fchown", [] { (void)sys::raw(SYS_fchown, 0, 0, 0); }},
      {"setxattr", [] { (void)sys::raw(SYS_setxattr, "/file", "user.x", "", 0, 0); }},
      {"bpf", [] { (void)sys::raw(SYS_bpf, 0, 0, 0); }},
      {"io_uring", [] { (void)sys::raw(SYS_io_uring_setup, 1, 0); }},
      {"open_by_handle", [] { (void)sys::raw(SYS_open_by_handle_at, 0, 0, 0); }},
      {"userfaultfd", [] { (void)sys::raw(SYS_userfaultfd, 0); }},
      {"x32", [] { (void)sys::raw(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0); }}};
  for (const auto& [name, attack] : attacks) {
    EXPECT_TRUE(is_killed(SIGSYS, [&attack] {
      attack();
      return 0;
    })) << name;
  }
}

TEST_F(ConfinementTest, WhoReadsATreeChangesNothing) {
  const std::vector<std::pair<const char*, std::function<void()>>> attacks = {
      {"mkdirat", [] { (void)::mkdirat(AT_FDCWD, "made", 0755); }},
      {"unlinkat", [] { (void)::unlinkat(AT_FDCWD, "file", 0); }},
      {"symlinkat", [] { (void)!::symlinkat("file", AT_FDCWD, "link"); }},
      {"linkat", [] { (void)!::linkat(AT_FDCWD, "file", AT_FDCWD, "link", 0); }},
      {"renameat", [] { (void)::renameat(AT_FDCWD, "file", AT_FDCWD, "other"); }},
      {"ftruncate", [] { (void)!::ftruncate(STDOUT_FILENO, 0); }},
      {"socket", [] { (void)::socket(AF_INET, SOCK_STREAM, 0); }}};
  for (const auto& [name, attack] : attacks) {
    const int status = status_of(
        [&attack] {
          attack();
          return 0;
        },
        true);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << name;
  }
  std::vector<int> changing = {O_WRONLY, O_RDWR, O_WRONLY | O_CREAT};
  if (sys::raw(SYS_landlock_create_ruleset, nullptr, 0, 1) >= 3) {
    changing.push_back(O_RDONLY | O_TRUNC);
  }
  for (const int flags : changing) {
    const int status = status_of(
        [flags] {
          const char* const name = (flags & O_CREAT) != 0 ? "made" : "file";
          return ::openat(AT_FDCWD, name, flags | O_CLOEXEC, 0600) < 0 ? errno : 0;
        },
        true);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == EACCES) << flags;
  }
  EXPECT_EQ(
      WEXITSTATUS(status_of(
          [] { return ::openat(AT_FDCWD, "file", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0; }, true)),
      0);
}

TEST_F(ConfinementTest, RootHasNoPowerOverFilesOfOthers) {
  const std::string path = directory_ + "/inside/others";
  touch(path, 0600);
  if (::geteuid() != 0 || ::chown(path.c_str(), 65534, 65534) != 0) {
    GTEST_SKIP() << "only root has such a power";
  }
  EXPECT_EQ(error_of_opening("others"), EACCES);
}

TEST_F(ConfinementTest, NoDescriptorIsLeftButTheStandardOnes) {
  const int leaked = ::open((directory_ + "/outside").c_str(), O_RDONLY);  // On purpose.
  ASSERT_GT(leaked, STDERR_FILENO);
  char byte = 0;
  const int status =
      status_of([&] { return ::read(leaked, &byte, 1) < 0 && errno == EBADF ? 0 : 1; });
  (void)::close(leaked);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(ConfinementTest, ProcessorTimeMemoryAndFilesAreBounded) {
  EXPECT_TRUE(is_killed(SIGXCPU, [] {
    for (;;) {
      asm volatile("");
    }
    return 0;
  }));
  EXPECT_TRUE(is_killed(SIGXFSZ, [] {
    const int fd = ::openat(AT_FDCWD, "large", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return ::ftruncate(fd, 2 << 20);
  }));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const int status =
      status_of([] { return sys::raw(SYS_mmap, 0, 1L << 30, 3, 0x22, -1, 0) == -ENOMEM ? 0 : 1; });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#endif
}

}  // namespace
}  // namespace glovebox::archiver
