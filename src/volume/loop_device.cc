// SPDX-License-Identifier: Apache-2.0
#include "volume/loop_device.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace glovebox {
namespace {

using Clock = std::chrono::steady_clock;

// Others may take the device that was free a moment ago.
constexpr int kMostTries = 64;
constexpr std::uint32_t kBlock = 4096;

Result<UniqueFd> open_locked(const std::string& image, std::chrono::milliseconds patience) {
  UniqueFd file(::open(image.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    return errno == ENOENT
               ? Error(ErrorCode::kConflict, "the volume or workspace was removed in the meantime")
               : Error::from_errno("open a disk image");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != 0 ||
      (status.st_mode & 0077) != 0) {
    return Error(ErrorCode::kRefused, "the disk image is not a file that only root can access",
                 "disk images must be owned by root and have mode 0600");
  }
  const auto deadline = Clock::now() + patience;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Error::from_errno("lock a disk image");
    }
    if (Clock::now() >= deadline) {
      return Error(ErrorCode::kConflict, "this volume or workspace is in use",
                   "end the sandbox that uses it");
    }
    (void)::poll(nullptr, 0, 2);
  }
  return file;
}

// Zero, or an errno. Direct I/O where the image's file system has it: else its pages would be kept
// twice.
int configure(int device, int image, bool direct, const std::string& name) {
  loop_config config{};
  config.fd = static_cast<__u32>(image);
  config.block_size = direct ? kBlock : 0;
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR | (direct ? LO_FLAGS_DIRECT_IO : 0);
  (void)std::snprintf(reinterpret_cast<char*>(config.info.lo_file_name), LO_NAME_SIZE, "%s",
                      name.c_str());
  return ::ioctl(device, LOOP_CONFIGURE, &config) == 0 ? 0 : errno;
}

}  // namespace

Result<LoopDevice> attach_loop(const std::string& image, std::chrono::milliseconds patience) {
  const UniqueFd file = GB_TRY(open_locked(image, patience));
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) {
    return Error::from_errno("open /dev/loop-control")
        .with_hint("load the kernel module 'loop'; in a container, add /dev/loop-control");
  }
  int error = EBUSY;
  for (int i = 0; i < kMostTries; ++i) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) {
      return Error::from_errno("find a free loop device");
    }
    LoopDevice loop{.fd = {}, .path = "/dev/loop" + std::to_string(number)};
    loop.fd = UniqueFd(::open(loop.path.c_str(), O_RDWR | O_CLOEXEC));
    if (!loop.fd) {
      if (errno == EBUSY || errno == EINTR || errno == ENXIO) {
        continue;
      }
      return Error(ErrorCode::kUnsupported, Error::from_errno("open " + loop.path).message(),
                   "in a container, add the host's /dev or more loop devices");
    }
    error = configure(loop.fd.get(), file.get(), true, image);
    if (error == EINVAL) {
      error = configure(loop.fd.get(), file.get(), false, image);
    }
    if (error == 0) {
      return loop;
    }
    if (error != EBUSY) {
      break;
    }
    (void)::poll(nullptr, 0, 1);
  }
  return Error::from_errno("attach a disk image to a loop device", error);
}

}  // namespace glovebox
