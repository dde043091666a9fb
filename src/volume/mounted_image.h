// SPDX-License-Identifier: Apache-2.0
// MountedImage: a disk image whose file system is mounted, in no mount table of anybody's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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

  // What is done while nobody can write. Makes system calls only, and answers zero or an errno;
  // ETIMEDOUT when it is not done by this time of the monotonic clock.
  using Work = std::function<int(std::int64_t deadline_ns)>;
  static constexpr std::size_t kMostDescriptors = 3;
  // Does that with the image's own file whole and at rest, in a process that has these descriptors
  // and no others: who writes waits meanwhile, at most 30 s, after which the work is given up
  // (kExhausted).
  [[nodiscard]] Result<void> while_still(std::span<const int> descriptors, const Work& work) const;

  // A copy of the image's file as it is now, in use (see while_still()). Costs nothing where the
  // file system can clone.
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
