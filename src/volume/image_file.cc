// SPDX-License-Identifier: Apache-2.0
#include "volume/image_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "base/sys/start_process.h"
#include "base/unique_fd.h"
#include "spec/guest.h"
#include "volume/mounted_image.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kInodeSize = 256;
constexpr std::uint64_t kBlocksInGroup = 32'768;
// Clients choose shapes, so the stock must not grow with their fancy.
constexpr std::size_t kMostInStock = 32;

std::uint64_t blocks(std::uint64_t bytes) { return (bytes + kBlock - 1) / kBlock; }

// In MiB. The least that ext4 takes for small ones: it is part of the image's size.
std::uint64_t journal_mib(const ImageShape& shape) { return shape.size >= 256_MiB ? 16 : 4; }

// With what ext4 keeps back: inode tables, journal, bitmaps, and the clusters that it reserves for
// its own late allocations (the smaller of 2% and 4,096, Documentation/ABI sysfs-fs-ext4,
// reserved_clusters).
std::uint64_t image_bytes(const ImageShape& shape) {
  const std::uint64_t content = blocks(shape.size.count);
  std::uint64_t all = content + blocks((shape.inodes + 64ULL) * kInodeSize) +
                      (journal_mib(shape) << 20U) / kBlock + 64;
  all += std::min<std::uint64_t>(all / 49 + 1, kBlocksInGroup / 8);
  const std::uint64_t groups = all / kBlocksInGroup + 1;
  // Two bitmaps, and the descriptor, its copies, and inode tables rounded up.
  all += groups * 16;
  return all * kBlock;
}

Result<void> format(const std::string& path, const ImageShape& shape) {
  {
    const UniqueFd file = GB_TRY(create_image_file(path));
    if (::ftruncate(file.get(), static_cast<off_t>(image_bytes(shape))) != 0) {
      return Error::from_errno("allocate space for a disk image");
    }
  }
  const std::string mkfs = find_mkfs("mkfs.ext4");
  if (mkfs.empty()) {
    return images_usable();
  }
  // A new file reads as zeros: nothing of tables and journal need be written.
  GB_TRY(run_mkfs({mkfs,
                   "-q",
                   "-F",
                   "-b",
                   std::to_string(kBlock),
                   "-I",
                   std::to_string(kInodeSize),
                   "-m",
                   "0",
                   "-N",
                   std::to_string(shape.inodes + 11),
                   "-J",
                   "size=" + std::to_string(journal_mib(shape)),
                   "-O",
                   "^resize_inode",
                   "-e",
                   "remount-ro",
                   "-E",
                   "nodiscard,lazy_itable_init=1,lazy_journal_init=1,root_owner=" +
                       std::to_string(kGuestUid) + ":" + std::to_string(kGuestGid),
                   path}));
  // The guest's directory is empty at first, as one in memory is; fsck makes it anew when needed.
  const auto image = GB_TRY(MountedImage::open(path));
  if (::unlinkat(image->root_fd(), "lost+found", AT_REMOVEDIR) != 0) {
    return Error::from_errno("empty a disk image");
  }
  return image->flush();
}

// The oldest go when there are too many.
void trim(const std::string& stock) {
  DIR* const directory = ::opendir(stock.c_str());
  if (directory == nullptr) {
    return;
  }
  std::vector<std::pair<std::int64_t, std::string>> found;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(directory)) {
    const std::string path = stock + "/" + entry->d_name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      found.emplace_back(status.st_atim.tv_sec, path);
    }
  }
  (void)::closedir(directory);
  std::ranges::sort(found);
  for (std::size_t i = 0; i + kMostInStock < found.size(); ++i) {
    (void)::unlink(found[i].second.c_str());
  }
}

Result<std::string> take_from_stock(const ImageShape& shape, const std::string& stock) {
  static std::mutex mutex;  // One maker of a shape at a time.
  const std::scoped_lock lock(mutex);
  if (::mkdir(stock.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create the stock of disk images");
  }
  const std::string path =
      stock + "/" + std::to_string(shape.size.count) + "-" + std::to_string(shape.inodes);
  if (::access(path.c_str(), F_OK) == 0) {
    (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return path;
  }
  trim(stock);
  // It gets its name only once it is whole.
  const std::string draft = path + ".new";
  (void)::unlink(draft.c_str());
  if (auto made = format(draft, shape); !made) {
    (void)::unlink(draft.c_str());
    return std::move(made).error();
  }
  if (::rename(draft.c_str(), path.c_str()) != 0) {
    return Error::from_errno("store a disk image");
  }
  return path;
}

bool knows_ext4() {
  std::ifstream file("/proc/filesystems");
  std::string word;
  while (file >> word) {
    if (word == "ext4") {
      return true;
    }
  }
  return false;
}

bool is_over(std::int64_t deadline_ns) {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec > deadline_ns;
}

// For what copy_file_range(2) refuses, between some file systems.
int copy_plainly(int from, int to, off_t begin, off_t end) {
  std::array<char, 32UL * 1024> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (begin < end) {
    const auto wanted = std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(end - begin));
    const ssize_t got = ::pread(from, buffer.data(), wanted, begin);
    if (got <= 0) {
      return got == 0 ? EIO : errno;
    }
    for (ssize_t done = 0; done < got;) {
      const ssize_t put =
          ::pwrite(to, buffer.data() + done, static_cast<std::size_t>(got - done), begin + done);
      if (put < 0) {
        return errno;
      }
      done += put;
    }
    begin += got;
  }
  return 0;
}

int copy_range(int from, int to, off_t begin, off_t end) {
  off_t out = begin;
  while (begin < end) {
    const ssize_t got =
        ::copy_file_range(from, &begin, to, &out, static_cast<std::size_t>(end - begin), 0);
    if (got <= 0) {
      return copy_plainly(from, to, begin, end);
    }
  }
  return 0;
}

}  // namespace

Result<void> images_usable() {
  const auto refuse = [](const char* missing, const char* hint) {
    return Error(ErrorCode::kUnsupported,
                 std::string("volumes and workspaces on disk are not available: ") + missing, hint);
  };
  if (::geteuid() != 0) {
    return refuse("only root can mount a disk image",
                  "run the daemon as root, or use workspaces in memory");
  }
  if (::access("/dev/loop-control", R_OK | W_OK) != 0) {
    return refuse("there are no loop devices (/dev/loop-control)",
                  "load the kernel module 'loop'; in a container, add /dev/loop-control and the "
                  "loop devices");
  }
  if (!knows_ext4()) {
    return refuse("this kernel has no ext4", "load the kernel module 'ext4'");
  }
  if (find_mkfs("mkfs.ext4").empty()) {
    return refuse("mkfs.ext4 is missing", "install the package e2fsprogs");
  }
  return {};
}

std::string find_mkfs(std::string_view name) {
  for (const char* const directory : {"/usr/sbin/", "/sbin/"}) {
    std::string path = std::string(directory).append(name);
    if (::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return {};
}

// Standard streams on /dev/null, and nothing else of ours.
Result<void> run_mkfs(const std::vector<std::string>& words) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto pid = sys::start_process({.program = words.front(),
                                       .words = words,
                                       .descriptors = {null.get(), null.get(), null.get()}});
  if (!pid) {
    return Error::from_errno("start " + words.front(), pid.error().os_error());
  }
  const int status = sys::wait_for_end(*pid);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error(ErrorCode::kUnavailable, words.front() + " failed",
                 "check that the disk is not full, and try it by hand");
  }
  return {};
}

Result<UniqueFd> create_image_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    if (errno == EEXIST) {
      return Error(ErrorCode::kConflict, "the disk image already exists");
    }
    return Error::from_errno("create a disk image");
  }
  return file;
}

Result<void> make_durable(int file, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
  const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(file) != 0 || ::fsync(directory.get()) != 0) {
    return Error::from_errno("flush a disk image");
  }
  return {};
}

Result<void> make_image(const std::string& path,
                        const ImageShape& shape,
                        const std::string& stock) {
  GB_TRY(images_usable());
  if (shape.size < kLeastImage || shape.size > kMostImage || shape.inodes < kLeastInodes ||
      shape.inodes > kMostInodes) {
    return Error(ErrorCode::kInvalid,
                 "an image of " + to_string(shape.size) + " with " + std::to_string(shape.inodes) +
                     " inodes is not supported",
                 "request " + to_string(kLeastImage) + " to " + to_string(kMostImage) + " and " +
                     std::to_string(kLeastInodes) + " to " + std::to_string(kMostInodes) +
                     " inodes");
  }
  return copy_image(GB_TRY(take_from_stock(shape, stock)), path);
}

Result<void> copy_image(const std::string& from, const std::string& to) {
  const UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!source) {
    return Error::from_errno("open a disk image");
  }
  const UniqueFd target = GB_TRY(create_image_file(to));
  const int failed =
      copy_contents(source.get(), target.get(), std::numeric_limits<std::int64_t>::max());
  Result<void> copied =
      failed != 0 ? Error::from_errno("copy a disk image", failed) : make_durable(target.get(), to);
  if (!copied) {
    (void)::unlink(to.c_str());
  }
  return copied;
}

int copy_contents(int from, int to, std::int64_t deadline_ns) noexcept {
  if (::ioctl(to, FICLONE, from) == 0) {
    return 0;
  }
  struct stat status {};
  if (::fstat(from, &status) != 0 || ::ftruncate(to, status.st_size) != 0) {
    return errno;
  }
  constexpr off_t kPiece = 16 << 20;
  for (off_t at = 0; at < status.st_size;) {
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0) {
      return errno == ENXIO ? 0 : errno;  // Nothing but a hole to the end.
    }
    off_t hole = ::lseek(from, data, SEEK_HOLE);
    if (hole < 0) {
      return errno;
    }
    hole = std::min(hole, data + kPiece);
    if (const int failed = copy_range(from, to, data, hole); failed != 0) {
      return failed;
    }
    if (is_over(deadline_ns)) {
      return ETIMEDOUT;
    }
    at = hole;
  }
  return 0;
}

}  // namespace glovebox
