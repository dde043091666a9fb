// SPDX-License-Identifier: Apache-2.0
#include "volume/subvolume.h"

#include <linux/btrfs.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

namespace glovebox {
namespace {

constexpr std::size_t kLongestName = 255;

// Both structures have more room than that.
template <typename Arguments>
int call(int directory, unsigned long request, Arguments& arguments, const char* name) noexcept {
  const std::size_t size = ::strnlen(name, kLongestName + 1);
  if (size > kLongestName) {
    return ENAMETOOLONG;
  }
  std::memcpy(arguments.name, name, size);
  return ::ioctl(directory, request, &arguments) == 0 ? 0 : errno;
}

}  // namespace

int make_subvolume(int directory, const char* name) noexcept {
  btrfs_ioctl_vol_args arguments{};
  return call(directory, BTRFS_IOC_SUBVOL_CREATE, arguments, name);
}

int snapshot_subvolume(int from, int directory, const char* name) noexcept {
  btrfs_ioctl_vol_args_v2 arguments{};
  arguments.fd = from;
  return call(directory, BTRFS_IOC_SNAP_CREATE_V2, arguments, name);
}

// btrfs has no other call for that, direct writes included: this one waits for all writes to the
// file before it says where any of it is.
int wait_for_writes(int file) noexcept {
  fiemap first{};
  first.fm_length = 1;
  first.fm_flags = FIEMAP_FLAG_SYNC;
  return ::ioctl(file, FS_IOC_FIEMAP, &first) == 0 ? 0 : errno;
}

int remove_subvolume(int directory, const char* name) noexcept {
  btrfs_ioctl_vol_args arguments{};
  return call(directory, BTRFS_IOC_SNAP_DESTROY, arguments, name);
}

int fill_device(int root) noexcept {
  btrfs_ioctl_vol_args arguments{};
  return call(root, BTRFS_IOC_RESIZE, arguments, "max");
}

}  // namespace glovebox
