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

#include "volume/image_file.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// The kernel gives up a mount a moment after its last process.
constexpr auto kPatience = 10s;
constexpr std::int64_t kLongestFreeze = 30'000'000'000;

// Why the kernel refused, in its own words: a descriptor of fsopen() has them.
std::string said_by(int context) {
  std::array<char, 512> text{};
  const ssize_t size = ::read(context, text.data(), text.size());
  return size > 2 ? " (" + std::string(text.data() + 2, static_cast<std::size_t>(size) - 2) + ")"
                  : std::string();
}

Result<UniqueFd> mount_device(const std::string& device, unsigned attributes) {
  const UniqueFd context(::fsopen("ext4", FSOPEN_CLOEXEC));
  if (!context) {
    return Error::from_errno("fsopen ext4").with_hint("load the kernel module 'ext4'");
  }
  const auto set = [&](const char* key, const char* value) {
    return ::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value, 0) == 0;
  };
  // Tables that nobody uses stay holes.
  const bool told =
      set("source", device.c_str()) && set("errors", "remount-ro") &&
      ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "noinit_itable", nullptr, 0) == 0 &&
      ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
  if (!told) {
    const int error = errno;
    return Error::from_errno("mount " + device + said_by(context.get()), error);
  }
  UniqueFd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, attributes));
  if (!mount) {
    return Error::from_errno("fsmount " + device);
  }
  return mount;
}

std::int64_t monotonic_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// In a process of its own: were it killed with us, the file system would stay frozen, without any
// mount by which to thaw it. System calls only: our other threads' locks are as they were.
[[noreturn]] void copy_frozen(int root, int from, int to) noexcept {
  // Not ours to keep open: a sandbox lives as long as the socket to its warden.
  std::array<int, 3> kept = {root, from, to};
  std::ranges::sort(kept);
  unsigned first = 0;
  for (const int fd : kept) {
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
  mounted->mount_ = GB_TRY(mounted->mount(false));
  mounted->root_ = UniqueFd(
      ::openat(mounted->mount_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!mounted->root_) {
    return Error::from_errno("open the root of a disk image");
  }
  return mounted;
}

// The device is mounted anew each time: the kernel finds that it has the file system already, and
// makes another mount of it. Cloning a detached mount came only with Linux 6.15.
Result<UniqueFd> MountedImage::mount(bool read_only) const {
  return mount_device(loop_.path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                      (read_only ? static_cast<unsigned>(MOUNT_ATTR_RDONLY) : 0U));
}

Result<void> MountedImage::flush() const {
  if (::syncfs(root_.get()) != 0) {
    return Error::from_errno("flush a disk image");
  }
  return {};
}

Result<void> MountedImage::copy(const std::string& to) const {
  // Most of it before the freeze, so that this is short.
  GB_TRY(flush());
  const UniqueFd from(::open(image_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const UniqueFd target(
      ::open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!from || !target) {
    return Error::from_errno("copy a disk image");
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    copy_frozen(root_.get(), from.get(), target.get());
  }
  int status = -1;
  Result<void> copied;
  if (pid < 0) {
    copied = Error::from_errno("fork");
  } else {
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    const int failed = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    if (failed == ETIMEDOUT) {
      copied = Error(ErrorCode::kExhausted, "copying a disk image took too long",
                     "put the data directory on XFS or btrfs, which support copy-on-write copies");
    } else if (failed != 0) {
      copied = Error::from_errno("copy a disk image", failed);
    } else if (::fsync(target.get()) != 0) {
      copied = Error::from_errno("flush a disk image");
    }
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
