// SPDX-License-Identifier: Apache-2.0
// ImagePool: where the disk images of a data directory are, and how they are copied.
//
// Where this machine has btrfs, the images are in one: a sparse file of the data directory,
// "pool.img", on a loop device, mounted for this process alone. Each image is a file in a subvolume
// of its own there, and a copy of it is a snapshot, which takes the same few milliseconds however
// large it is, and no space but for what changes later. Guests never see that btrfs: they get the
// ext4 in the image, whose size and inodes are a hard limit.
//
// Whoever has only the data directory sees an image there by its path all the same: a file that
// takes no space stands for it, and its size says how many bytes the image took when it was made.
//
// Elsewhere the images are those files themselves. Images of the time before a pool stay what they
// are, and their copies go into the pool.
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

// How many bytes an image takes, or took when its copy was made; what it shares with others counts
// as its own. Zero where there is none.
std::uint64_t image_use(const std::string& image);

// Whether this machine can have a pool. kUnsupported says what is missing.
Result<void> pool_usable();

// Safe to use from several threads. Paths of images are `directory` + "/PART/NAME". The pool is
// opened, or made, when it is first needed; it ends with its last user, as a MountedImage does, so
// there is nothing to clean up after a crash. Must outlive the copies of its images.
class ImagePool {
 public:
  // One that fits the data directory: no pool where that can clone files by itself.
  explicit ImagePool(std::string directory);
  ~ImagePool();
  ImagePool(const ImagePool&) = delete;
  ImagePool& operator=(const ImagePool&) = delete;

  // As make_image(); kUnavailable when the pool is nearly full.
  Result<void> make(const std::string& image, const ImageShape& shape);

  Result<std::shared_ptr<MountedImage>> open(const std::string& image);

  // A copy of what it is now, durably: `used` is the image where somebody may write to it, and
  // nothing where nobody can. kConflict when `to` exists.
  Result<void> copy(const std::string& image, const std::string& to, const MountedImage* used);

  // Whether copies of it share with it what does not change, and so are made in no time and take no
  // space. Requires: the image is there.
  Result<bool> shares_copies(const std::string& image);

  // One that is in use goes when it no longer is. One that is not there is removed already.
  Result<void> remove(const std::string& image);

 private:
  class Mounted;
  // Nothing where images are plain files.
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
