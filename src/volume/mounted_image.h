// SPDX-License-Identifier: Apache-2.0
// MountedImage: a disk image whose file system is mounted, in no mount table of anybody's.
#pragma once

#include <chrono>
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
  // Without set-user-id programs and devices.
  [[nodiscard]] Result<UniqueFd> mount(bool read_only) const;

  // All that was written so far is on stable storage (syncfs(2)).
  [[nodiscard]] Result<void> flush() const;

  // A copy of the image as it is now, in use: who writes waits meanwhile, at most 30 s, after which
  // the copy is given up (kExhausted). Costs nothing where the file system can clone.
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

  std::string image_;
  LoopDevice loop_;
  UniqueFd mount_;
  UniqueFd root_;
};

}  // namespace glovebox
