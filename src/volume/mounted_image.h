// SPDX-License-Identifier: Apache-2.0
// MountedImage: a disk image whose file system is mounted, but appears in no mount table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "volume/loop_device.h"

namespace glovebox {

// Safe to use from several threads. The image is released when this object and its last mount are
// gone.
class MountedImage {
 public:
  // kConflict when another process of this machine has it mounted.
  static Result<std::shared_ptr<MountedImage>> open(const std::string& image);

  MountedImage(const MountedImage&) = delete;
  MountedImage& operator=(const MountedImage&) = delete;

  // One more mount of the same file system, detached (fsmount(2)): to be given to one sandbox.
  // Without devices, and without set-user-id programs unless they are asked for.
  enum class Access { kRead, kWrite, kWriteWithSetUserId };
  [[nodiscard]] Result<UniqueFd> mount(Access access) const;

  // Flushes everything written so far to stable storage (syncfs(2)).
  [[nodiscard]] Result<void> flush() const;

  // The same, and checkpoints the file system's journal if the kernel can (Linux 5.14). A copy of
  // the image's file at any later moment contains all of it, and of later writes what a loss of
  // power would have left.
  [[nodiscard]] Result<void> settle() const;

  // A copy of the image's file as it is now, in use. Costs nothing if the file system can clone;
  // writers wait meanwhile, at most 30 s, after which the copy is given up (kExhausted).
  [[nodiscard]] Result<void> copy(const std::string& to) const;

  struct Use {
    Bytes used;
    Bytes free;
    std::uint64_t inodes_used = 0;
    std::uint64_t inodes_free = 0;
  };
  [[nodiscard]] Result<Use> use() const;

  // Its root directory, with whatever owner it has on disk.
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
