// SPDX-License-Identifier: Apache-2.0
#include "volume/image_pool.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "volume/detached_mount.h"
#include "volume/loop_device.h"
#include "volume/subvolume.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPoolFile = "/pool.img";
constexpr const char* kStock = "images";  // Empty ones, in the pool and beside it.
constexpr const char* kImage = "/image";  // The file in a subvolume.
// For the sandboxes of a keeper that has just died.
constexpr auto kPatience = 10s;
// Clients choose shapes.
constexpr std::size_t kMostInStock = 32;
// The most that the file of the pool may take of the disk's free space, so that the pool is full
// before the disk is: a btrfs that cannot write its trees is read-only for everybody in it.
constexpr std::uint64_t kShares = 8;
constexpr std::uint64_t kLeastPool = 1ULL << 30U;
constexpr std::uint64_t kGrain = 1ULL << 20U;
// Kept free in it, for the trees and for those who have images already.
constexpr std::uint64_t kLeastRoom = 256ULL << 20U;

// Guests' writes go in place, except after a snapshot, and btrfs keeps no checksums of them: that
// is the ext4's matter. What is removed becomes holes of the pool's file after a while.
constexpr std::array<MountOption, 2> kOptions = {{{"nodatacow", nullptr}, {"discard", "async"}}};

// A real image has at least its own tables.
bool stands_for_another(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_blocks == 0;
}

// By trying: file systems differ, and so do their settings.
bool clones_files(const std::string& directory) {
  const UniqueFd from(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const UniqueFd to(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const std::array<char, 4096> block{};
  return from && to && ::write(from.get(), block.data(), block.size()) > 0 &&
         ::ioctl(to.get(), FICLONE, from.get()) == 0;
}

// How large the file may be, when it takes `taken` of the disk already.
std::uint64_t room_for_pool(const std::string& directory, std::uint64_t taken) {
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) {
    return 0;
  }
  const std::uint64_t free = disk.f_bavail * disk.f_frsize;
  return (taken + free - free / kShares) / kGrain * kGrain;
}

Error pool_full() {
  return {ErrorCode::kUnavailable, "the pool of disk images is nearly full",
          "remove sandboxes on disk, snapshots or volumes that are no longer needed, or give the "
          "data directory's disk more space and restart the daemon"};
}

std::vector<std::string> entries_of(int directory) {
  std::vector<std::string> names;
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy < 0 ? nullptr : ::fdopendir(copy),
                                                   ::closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  for (const dirent* entry = nullptr; stream && (entry = ::readdir(stream.get())) != nullptr;) {
    if (const std::string_view name = entry->d_name; name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  return names;
}

// The file that stands for an image, while that is being made. Gone again if it never is.
class Place {
 public:
  static Result<Place> take(const std::string& image) {
    return Place(image, GB_TRY(create_image_file(image)));
  }
  Place(Place&& other) noexcept
      : image_(std::exchange(other.image_, {})), file_(std::move(other.file_)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (!image_.empty()) {
      (void)::unlink(image_.c_str());
    }
  }
  Result<void> keep(std::uint64_t bytes) && {
    if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) {
      return Error::from_errno("create a disk image");
    }
    // Its name: nothing else in it matters but to books.
    const std::string parent = image_.substr(0, image_.rfind('/'));
    const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || ::fsync(directory.get()) != 0) {
      return Error::from_errno("flush a disk image");
    }
    image_.clear();
    return {};
  }

 private:
  Place(std::string image, UniqueFd file) : image_(std::move(image)), file_(std::move(file)) {}
  std::string image_;
  UniqueFd file_;
};

}  // namespace

bool is_pooled(const std::string& image) {
  struct stat status {};
  return ::lstat(image.c_str(), &status) == 0 && stands_for_another(status);
}

std::uint64_t image_use(const std::string& image) {
  struct stat status {};
  if (::lstat(image.c_str(), &status) != 0) {
    return 0;
  }
  return stands_for_another(status) ? static_cast<std::uint64_t>(status.st_size)
                                    : static_cast<std::uint64_t>(status.st_blocks) * 512;
}

Result<void> pool_usable() {
  GB_TRY(images_usable());
  if (find_mkfs("mkfs.btrfs").empty()) {
    return Error(ErrorCode::kUnsupported, "mkfs.btrfs is missing",
                 "install the package btrfs-progs");
  }
  if (const UniqueFd context(::fsopen("btrfs", FSOPEN_CLOEXEC)); !context) {
    return Error(ErrorCode::kUnsupported, "this kernel has no btrfs",
                 "load the kernel module 'btrfs'");
  }
  return {};
}

// The pool that is mounted. Names are "PART/NAME".
class ImagePool::Mounted {
 public:
  static Result<std::unique_ptr<Mounted>> make(const std::string& directory,
                                               const std::string& file);
  static Result<std::unique_ptr<Mounted>> open(const std::string& directory,
                                               const std::string& file);

  // Where the file of an image is, for this process; of what `image` means to the others.
  [[nodiscard]] std::string file(const std::string& name) const {
    return "/proc/self/fd/" + std::to_string(root_.get()) + "/" + name + kImage;
  }
  Result<void> check_room() const;
  // An empty one of this shape that others are copied from.
  Result<std::string> stocked(const ImageShape& shape, const std::string& stock);
  Result<void> snapshot(const std::string& from, const std::string& to, const MountedImage* used);
  // A copy of the plain file `image`.
  Result<void> import(const std::string& image, const std::string& to, const MountedImage* used);
  Result<void> remove(const std::string& name) const;

 private:
  // The directory of a part, and a name in it.
  struct Entry {
    UniqueFd part;
    std::string name;
  };
  [[nodiscard]] Result<Entry> entry(const std::string& name) const;
  Result<void> rename(const std::string& from, const std::string& to) const;
  void sweep(const std::string& directory) const;

  LoopDevice loop_;
  UniqueFd mount_;
  UniqueFd root_;
  std::mutex stocking_;  // One maker of empty images at a time.
};

Result<std::unique_ptr<ImagePool::Mounted>> ImagePool::Mounted::make(const std::string& directory,
                                                                     const std::string& file) {
  // It gets its name only once it is whole.
  const std::string draft = file + ".new";
  (void)::unlink(draft.c_str());
  {
    const UniqueFd created = GB_TRY(create_image_file(draft));
    if (::ftruncate(created.get(), static_cast<off_t>(room_for_pool(directory, 0))) != 0) {
      return Error::from_errno("allocate space for the pool of disk images");
    }
    // One copy of the trees, as of everything else on that disk.
    GB_TRY(run_mkfs({find_mkfs("mkfs.btrfs"), "-q", "-K", "-m", "single", "-d", "single", draft}));
    if (::rename(draft.c_str(), file.c_str()) != 0) {
      return Error::from_errno("store the pool of disk images");
    }
    GB_TRY(make_durable(created.get(), file));
  }
  return open(directory, file);
}

Result<std::unique_ptr<ImagePool::Mounted>> ImagePool::Mounted::open(const std::string& directory,
                                                                     const std::string& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) {
    return Error::from_errno("stat the pool of disk images");
  }
  // The kernel will mount it. Where others may make files beside it, they cannot put another file
  // in the place of ours (sticky directories, inode(7)).
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || status.st_nlink != 1 ||
      (status.st_mode & 077) != 0) {
    return Error(ErrorCode::kRefused, "others can write to the pool of disk images " + file,
                 "remove it if you do not know who made it");
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t room =
      room_for_pool(directory, static_cast<std::uint64_t>(status.st_blocks) * 512);
  const bool grows = room > size + size / kShares;
  if (grows && ::truncate(file.c_str(), static_cast<off_t>(room)) != 0) {
    return Error::from_errno("enlarge the pool of disk images");
  }
  auto mounted = std::make_unique<Mounted>();
  mounted->loop_ = GB_TRY(attach_loop(file, kPatience));
  mounted->mount_ = GB_TRY(
      mount_device("btrfs", mounted->loop_.path, kOptions,
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOATIME));
  mounted->root_ =
      UniqueFd(::openat(mounted->mount_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!mounted->root_) {
    return Error::from_errno("open the pool of disk images");
  }
  if (grows) {
    if (const int failed = fill_device(mounted->root_.get()); failed != 0) {
      return Error::from_errno("enlarge the pool of disk images", failed);
    }
  }
  mounted->sweep(directory);
  return mounted;
}

Result<ImagePool::Mounted::Entry> ImagePool::Mounted::entry(const std::string& name) const {
  const std::size_t slash = name.find('/');
  const std::string part = name.substr(0, slash);
  if (::mkdirat(root_.get(), part.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create a directory in the pool of disk images");
  }
  Entry entry{.part = UniqueFd(::openat(root_.get(), part.c_str(),
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
              .name = name.substr(slash + 1)};
  if (!entry.part) {
    return Error::from_errno("open a directory in the pool of disk images");
  }
  return entry;
}

Result<void> ImagePool::Mounted::check_room() const {
  struct statvfs room {};
  if (::fstatvfs(root_.get(), &room) != 0) {
    return Error::from_errno("statvfs the pool of disk images");
  }
  return room.f_bavail * room.f_frsize < kLeastRoom ? pool_full() : Result<void>();
}

// Nobody is kept from writing meanwhile: freezing the ext4 (FIFREEZE) waits for three grace periods
// of RCU, which would be most of the time that a copy takes. A copy of one moment is what a loss of
// power leaves, and the ext4's journal puts that in order, if of two writes with a flush of the
// device between them the snapshot never has the second alone. It never does:
//  - The flush is an fsync(2) of the image's file. What that has logged is in the file's tree
//    before btrfs commits (pending_ordered), and no fsync begins between that and the snapshot.
//  - A write in place, which the snapshot shares, was decided upon before there was a snapshot.
// Some writes of the latter kind may still be under way when the snapshot is made.
Result<void> ImagePool::Mounted::snapshot(const std::string& from,
                                          const std::string& to,
                                          const MountedImage* used) {
  const Entry source = GB_TRY(entry(from));
  const Entry target = GB_TRY(entry(to));
  const UniqueFd subvolume(::openat(source.part.get(), source.name.c_str(),
                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!subvolume) {
    return Error::from_errno("open a disk image in the pool");
  }
  if (used != nullptr) {
    GB_TRY(used->settle());
  }
  if (const int failed =
          snapshot_subvolume(subvolume.get(), target.part.get(), target.name.c_str());
      failed != 0) {
    return Error::from_errno("copy a disk image", failed);
  }
  if (used == nullptr) {
    return {};
  }
  const UniqueFd file(::openat(subvolume.get(), kImage + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  // Otherwise a reader of the copy would find what was there before those writes.
  const int failed = file ? wait_for_writes(file.get()) : errno;
  if (failed != 0) {
    (void)remove_subvolume(target.part.get(), target.name.c_str());
    return Error::from_errno("copy a disk image", failed);
  }
  return {};
}

Result<void> ImagePool::Mounted::import(const std::string& image,
                                        const std::string& to,
                                        const MountedImage* used) {
  const Entry target = GB_TRY(entry(to));
  if (const int failed = make_subvolume(target.part.get(), target.name.c_str()); failed != 0) {
    return Error::from_errno("create a disk image in the pool", failed);
  }
  const auto copied = used != nullptr ? used->copy(file(to)) : copy_image(image, file(to));
  if (!copied) {
    (void)remove_subvolume(target.part.get(), target.name.c_str());
  }
  return copied;
}

Result<void> ImagePool::Mounted::remove(const std::string& name) const {
  const Entry gone = GB_TRY(entry(name));
  const int failed = remove_subvolume(gone.part.get(), gone.name.c_str());
  return failed == 0 || failed == ENOENT
             ? Result<void>()
             : Error::from_errno("remove a disk image from the pool", failed);
}

Result<void> ImagePool::Mounted::rename(const std::string& from, const std::string& to) const {
  if (::renameat(root_.get(), from.c_str(), root_.get(), to.c_str()) != 0) {
    return Error::from_errno("store a disk image");
  }
  return {};
}

// Removes images that nothing in the data directory has the name of: a keeper died on the way. A
// file whose hole a backup has filled stands for nothing, but it shows that the image is wanted.
void ImagePool::Mounted::sweep(const std::string& directory) const {
  for (const std::string& part : entries_of(root_.get())) {
    const UniqueFd inside(
        ::openat(root_.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    for (const std::string& name :
         part == kStock ? std::vector<std::string>() : entries_of(inside.get())) {
      struct stat status {};
      const std::string image = directory + "/" + part + "/" + name;
      if (::lstat(image.c_str(), &status) != 0 && errno == ENOENT) {
        (void)remove_subvolume(inside.get(), name.c_str());
      }
    }
  }
}

Result<std::string> ImagePool::Mounted::stocked(const ImageShape& shape, const std::string& stock) {
  const std::scoped_lock lock(stocking_);
  const std::string name = std::string(kStock) + "/" + std::to_string(shape.size.count) + "-" +
                           std::to_string(shape.inodes);
  if (::access(file(name).c_str(), F_OK) == 0) {
    return name;
  }
  const Entry made = GB_TRY(entry(name));
  if (const auto known = entries_of(made.part.get()); known.size() >= kMostInStock) {
    std::ranges::for_each(known, [&made](const std::string& old) {
      (void)remove_subvolume(made.part.get(), old.c_str());
    });
  }
  const std::string draft = name + ".new";
  GB_TRY(remove(draft));
  if (const int failed = make_subvolume(made.part.get(), (made.name + ".new").c_str());
      failed != 0) {
    return Error::from_errno("create a disk image in the pool", failed);
  }
  GB_TRY(make_image(file(draft), shape, stock));
  GB_TRY(rename(draft, name));
  return name;
}

ImagePool::ImagePool(std::string directory)
    : directory_(std::move(directory)), file_(directory_ + kPoolFile) {}

ImagePool::~ImagePool() = default;

std::string ImagePool::name_of(const std::string& image) const {
  GB_CHECK(image.starts_with(directory_ + "/"));
  return image.substr(directory_.size() + 1);
}

// A pool that was made once is used, whatever would be made now.
Result<ImagePool::Mounted*> ImagePool::mounted() {
  const std::scoped_lock lock(mutex_);
  if (decided_) {
    return mounted_.get();
  }
  GB_TRY(images_usable());
  if (::access(file_.c_str(), F_OK) == 0) {
    mounted_ = GB_TRY(Mounted::open(directory_, file_));
  } else if (clones_files(directory_)) {
    clones_ = true;
  } else if (pool_usable() && room_for_pool(directory_, 0) >= kLeastPool) {
    mounted_ = GB_TRY(Mounted::make(directory_, file_));
  }
  decided_ = true;
  return mounted_.get();
}

Result<void> ImagePool::make(const std::string& image, const ImageShape& shape) {
  const std::string stock = directory_ + "/" + kStock;
  Mounted* const pool = GB_TRY(mounted());
  if (pool == nullptr) {
    return make_image(image, shape, stock);
  }
  GB_TRY(pool->check_room());
  Place place = GB_TRY(Place::take(image));
  const std::string empty = GB_TRY(pool->stocked(shape, stock));
  GB_TRY(pool->snapshot(empty, name_of(image), nullptr));
  return std::move(place).keep(image_use(pool->file(name_of(image))));
}

Result<std::shared_ptr<MountedImage>> ImagePool::open(const std::string& image) {
  if (!is_pooled(image)) {
    return MountedImage::open(image);
  }
  Mounted* const pool = GB_TRY(mounted());
  return MountedImage::open(pool == nullptr ? image : pool->file(name_of(image)));
}

Result<void> ImagePool::copy(const std::string& image,
                             const std::string& to,
                             const MountedImage* used) {
  Mounted* const pool = GB_TRY(mounted());
  if (pool == nullptr) {
    return used != nullptr ? used->copy(to) : copy_image(image, to);
  }
  GB_TRY(pool->check_room());
  Place place = GB_TRY(Place::take(to));
  GB_TRY(is_pooled(image) ? pool->snapshot(name_of(image), name_of(to), used)
                          : pool->import(image, name_of(to), used));
  return std::move(place).keep(image_use(pool->file(name_of(to))));
}

Result<bool> ImagePool::shares_copies(const std::string& image) {
  const Mounted* const pool = GB_TRY(mounted());
  return pool != nullptr ? is_pooled(image) : clones_;
}

Result<void> ImagePool::remove(const std::string& image) {
  const bool was_pooled = is_pooled(image);
  if (::unlink(image.c_str()) != 0 && errno != ENOENT) {
    return Error::from_errno("remove a disk image");
  }
  // An empty file of a keeper that died at it looks like one, and is no reason to make a pool.
  if (!was_pooled || ::access(file_.c_str(), F_OK) != 0) {
    return {};
  }
  // If it cannot be opened now, the next keeper's sweep of it removes what is left.
  Mounted* const pool = GB_TRY(mounted());
  return pool == nullptr ? Result<void>() : pool->remove(name_of(image));
}

}  // namespace glovebox
