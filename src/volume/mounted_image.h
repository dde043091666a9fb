// SPDX-License-Identifier: Apache-2.0
// MountedImage: a disk image whose file system is mounted, in no mount table of anybody's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "volume/loop_device.h"

namespace glovebox {

// Safe to use from several threads. When it goes, and the last mount of it, the image is given up.
class MountedImage {
 public:
  // kConflict when somebody else has it mounted, of this machine.
  static Result<std::shared_ptr<MountedImage>> open(const std::string& image);

  MountedImage(const MountedImage&) = delete;
  MountedImage& operator=(const MountedImage&) = delete;

  // One more mount of the same file system, detached (fsmount(2)): to be given to one sandbox.
  // Without devices, and without set-user-id programs unless they are asked for.
  enum class Access { kRead, kWrite, kWriteWithSetUserId };
  [[nodiscard]] Result<UniqueFd> mount(Access access) const;

  // All that was written so far is on stable storage (syncfs(2)).
  [[nodiscard]] Result<void> flush() const;

  // The same, and what the journal holds of it is in its place, as far as the kernel can do that
  // (Linux 5.14). A copy of the image's file as it is at any one moment afterwards has all of it,
  // and of what is written meanwhile what a loss of power would have left.
  [[nodiscard]] Result<void> settle() const;

  // A copy of the image's file as it is now, in use. Costs nothing where the file system can
  // clone; who writes waits meanwhile, at most 30 s, after which the copy is given up (kExhausted).
  [[nodiscard]] Result<void> copy(const std::string& to) const;

  struct Use {
    Bytes used;
    Bytes free;
    std::uint64_t inodes_used = 0;
    std::uint64_t inodes_free = 0;
  };
  [[nodiscard]] Result<Use> use() const;

  // Its root directory, of whatever owner it has on disk.
  [[nodiscard]] int root_fd() const { return root_.get(); }

 private:
  MountedImage() = default;
  [[nodiscard]] Result<void> copy_still(int from, int to) const;

  std::string image_;
  LoopDevice loop_;
  UniqueFd mount_;
  UniqueFd root_;
};

}  // namespace glovebox
