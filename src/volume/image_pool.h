// SPDX-License-Identifier: Apache-2.0
// ImagePool: where the disk images of a data directory are, and how they are copied.
//
// Where this machine has btrfs, the images are in one: a sparse file of the data directory,
// "pool.img", on a loop device, mounted for this process alone. Each image is a file in a subvolume
// of its own there, and a copy of it is a snapshot, which takes the same few milliseconds however
// large it is, and no space but for what changes later. Guests never see that btrfs: they get the
// ext4 in the image, whose size and inodes are a hard limit.
//
// In the data directory, each image still has a file at its path. For an image in the pool, that
// file takes no space, and its size is the number of bytes that the image took when it was made.
//
// Without a pool, those files are the images. Images from before the pool was made stay files, and
// their copies go into the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "volume/image_file.h"
#include "volume/mounted_image.h"

namespace glovebox {

// Whether the file stands for an image in the pool.
bool is_pooled(const std::string& image);

// The bytes that an image takes, or took when it was copied, including those that it shares with
// others. Zero if there is no image.
std::uint64_t image_use(const std::string& image);

// Whether this machine can have a pool. kUnsupported says what is missing.
Result<void> pool_usable();

// Safe to use from several threads. Paths of images are `directory` + "/PART/NAME". The pool is
// opened, or made, when it is first needed; it ends with its last user, as a MountedImage does, so
// there is nothing to clean up after a crash. Must outlive the copies of its images.
class ImagePool {
 public:
  // Uses no pool if the file system of the data directory can clone files by itself.
  explicit ImagePool(std::string directory);
  ~ImagePool();
  ImagePool(const ImagePool&) = delete;
  ImagePool& operator=(const ImagePool&) = delete;

  // As make_image(); kUnavailable when the pool is nearly full.
  Result<void> make(const std::string& image, const ImageShape& shape);

  Result<std::shared_ptr<MountedImage>> open(const std::string& image);

  // Makes a durable copy of its present state. `used` is the mounted image if somebody may write to
  // it, else null. kConflict when `to` exists.
  Result<void> copy(const std::string& image, const std::string& to, const MountedImage* used);

  // Whether copies of it share with it what does not change, and so are made in no time and take no
  // space. Requires: the image is there.
  Result<bool> shares_copies(const std::string& image);

  // An image in use is removed when its last user is gone. Succeeds if there is no such image.
  Result<void> remove(const std::string& image);

 private:
  class Mounted;
  // Null if images are plain files.
  Result<Mounted*> mounted();
  [[nodiscard]] std::string name_of(const std::string& image) const;

  const std::string directory_;
  const std::string file_;
  std::mutex mutex_;  // Of what follows.
  bool decided_ = false;
  bool clones_ = false;  // The data directory's file system does, so there is no pool.
  std::unique_ptr<Mounted> mounted_;
};

}  // namespace glovebox
