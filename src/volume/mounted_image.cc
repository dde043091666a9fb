// SPDX-License-Identifier: Apache-2.0
#include "volume/mounted_image.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "volume/detached_mount.h"
#include "volume/image_file.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// The kernel gives up a mount a moment after its last process.
constexpr auto kPatience = 10s;
constexpr std::int64_t kLongestFreeze = 30'000'000'000;

// EXT4_IOC_CHECKPOINT, which the headers have from Linux 6.2 on.
constexpr unsigned long kCheckpoint = _IOW('f', 43, std::uint32_t);

// Tables that nobody uses stay holes.
constexpr std::array<MountOption, 2> kOptions = {
    {{"errors", "remount-ro"}, {"noinit_itable", nullptr}}};

std::int64_t monotonic_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// In a process of its own: if it were killed with us, the file system would stay frozen, without
// any mount by which to thaw it. System calls only: our other threads' locks are as they were.
[[noreturn]] void copy_frozen(int root, int from, int to) noexcept {
  // Not ours to keep open: a sandbox lives as long as the socket to its warden.
  std::array<int, 3> used = {root, from, to};
  std::ranges::sort(used);
  unsigned first = 0;
  for (const int fd : used) {
    if (static_cast<unsigned>(fd) > first) {
      (void)::syscall(SYS_close_range, first, static_cast<unsigned>(fd) - 1, 0);
    }
    first = static_cast<unsigned>(fd) + 1;
  }
  (void)::syscall(SYS_close_range, first, ~0U, 0);
  (void)::setsid();
  if (::ioctl(root, FIFREEZE, 0) != 0) {
    ::_exit(errno);
  }
  const int failed = copy_contents(from, to, monotonic_ns() + kLongestFreeze);
  (void)::ioctl(root, FITHAW, 0);
  ::_exit(failed);
}

}  // namespace

Result<std::shared_ptr<MountedImage>> MountedImage::open(const std::string& image) {
  std::shared_ptr<MountedImage> mounted(new MountedImage);
  mounted->image_ = image;
  mounted->loop_ = GB_TRY(attach_loop(image, kPatience));
  mounted->mount_ = GB_TRY(mounted->mount(Access::kWrite));
  mounted->root_ = UniqueFd(
      ::openat(mounted->mount_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!mounted->root_) {
    return Error::from_errno("open the root of a disk image");
  }
  return mounted;
}

// The device is mounted anew each time: the kernel finds that it has the file system already, and
// makes another mount of it. Cloning a detached mount came only with Linux 6.15.
Result<UniqueFd> MountedImage::mount(Access access) const {
  unsigned attributes = MOUNT_ATTR_NODEV;
  attributes |= access == Access::kRead ? static_cast<unsigned>(MOUNT_ATTR_RDONLY) : 0U;
  attributes |=
      access == Access::kWriteWithSetUserId ? 0U : static_cast<unsigned>(MOUNT_ATTR_NOSUID);
  return mount_device("ext4", loop_.path, kOptions, attributes);
}

Result<void> MountedImage::flush() const {
  if (::syncfs(root_.get()) != 0) {
    return Error::from_errno("flush a disk image");
  }
  return {};
}

Result<void> MountedImage::settle() const {
  GB_TRY(flush());
  // If it fails, mounting a copy applies the journal.
  const std::uint32_t flags = 0;
  (void)::ioctl(root_.get(), kCheckpoint, &flags);
  return {};
}

Result<void> MountedImage::copy_still(int from, int to) const {
  // Most of it is flushed before the freeze, which is then short.
  GB_TRY(flush());
  const pid_t pid = ::fork();
  if (pid == 0) {
    copy_frozen(root_.get(), from, to);
  }
  if (pid < 0) {
    return Error::from_errno("fork");
  }
  int status = -1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const int failed = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
  if (failed == ETIMEDOUT) {
    return Error(ErrorCode::kExhausted, "copying a disk image took too long",
                 "install btrfs-progs, or put the data directory on XFS or btrfs: then copies "
                 "share what did not change");
  }
  return failed == 0 ? Result<void>() : Error::from_errno("copy a disk image", failed);
}

Result<void> MountedImage::copy(const std::string& to) const {
  const UniqueFd from(::open(image_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const UniqueFd target(
      ::open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!from || !target) {
    return Error::from_errno("copy a disk image");
  }
  auto copied = copy_still(from.get(), target.get());
  if (copied && ::fsync(target.get()) != 0) {
    copied = Error::from_errno("flush a disk image");
  }
  if (!copied) {
    (void)::unlink(to.c_str());
  }
  return copied;
}

Result<MountedImage::Use> MountedImage::use() const {
  struct statfs status {};
  if (::fstatfs(root_.get(), &status) != 0) {
    return Error::from_errno("statfs a disk image");
  }
  const auto bytes = [&](auto count) {
    return Bytes{static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(status.f_bsize)};
  };
  return Use{.used = bytes(status.f_blocks - status.f_bfree),
             .free = bytes(status.f_bavail),
             .inodes_used = status.f_files - status.f_ffree,
             .inodes_free = status.f_ffree};
}

}  // namespace glovebox
