// SPDX-License-Identifier: Apache-2.0
// LoopDevice: a disk image as a block device (loop(4)), for as long as somebody has it open.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// The kernel lets the image go when the last user does, which may be a mount that outlives us:
// there is nothing to clean up after a crash.
struct LoopDevice {
  UniqueFd fd;
  std::string path;  // "/dev/loop7"; ours for as long as `fd` is open.
};

// Attaches an image that nobody else has attached. Two devices over one image would destroy it, so
// the image's file is locked (flock(2)) by the very description that the kernel keeps: the lock
// lives exactly as long as the device uses it, whoever dies. Waits `patience` for it, because a
// mount that has just ended is given up a moment later; then kConflict.
Result<LoopDevice> attach_loop(const std::string& image, std::chrono::milliseconds patience);

}  // namespace glovebox
