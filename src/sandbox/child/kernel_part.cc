// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/kernel_part.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "sandbox/child/confine.h"
#include "sandbox/child/crossing.h"
#include "sandbox/child/way_out.h"

namespace glovebox::child {
namespace {

using sys::raw;

constexpr std::uint64_t kReadOnly = abi::kMountRdonly | abi::kMountNosuid | abi::kMountNodev;

// The guests' kernel uses descriptor 256. If its table had to grow for that, one of its threads
// would wait for an RCU grace period (expand_fdtable() of Linux), which is tens of milliseconds.
// A table never shrinks.
constexpr int kHighFd = 500;

// Out of the way of the descriptors that are put in their places.
constexpr int kAside = 128;
constexpr std::size_t kMostDescriptors = 64;

class Entrance {
 public:
  explicit Entrance(const KernelPart& part) noexcept : part_(part) {}

  [[noreturn]] void run() noexcept {
    step(SetupStep::kBorn, &Entrance::start_anew);
    step(SetupStep::kCgroup, &Entrance::join_cgroups);
    step(SetupStep::kIdentity, &Entrance::become_root);
    step(SetupStep::kNetwork, &Entrance::make_way_out);
    step(SetupStep::kRoot, &Entrance::make_root);
    step(SetupStep::kMounts, &Entrance::bind_mounts);
    step(SetupStep::kEnterRoot, &Entrance::enter_root);
    step(SetupStep::kFiles, &Entrance::arrange_descriptors);
    step(SetupStep::kPrivileges, &Entrance::drop_privileges);
    step(SetupStep::kSeccomp, &Entrance::filter_calls);
    fail(SetupStep::kExec,
         raw(SYS_execveat, program_, "", part_.argv, part_.environment, AT_EMPTY_PATH));
  }

 private:
  using Part = long (Entrance::*)() noexcept;

  void step(SetupStep which, Part part) noexcept {
    if (const long result = (this->*part)(); result < 0) {
      fail(which, result);
    }
  }

  [[noreturn]] void fail(SetupStep which, long result) noexcept {
    const KernelPartFailure failure{.step = which, .error = static_cast<int>(-result)};
    (void)raw(SYS_write, failure_, &failure, sizeof failure);
    for (;;) {
      (void)raw(SYS_exit_group, 127);
    }
  }

  long start_anew() noexcept {
    sys::signals_by_default();
    const std::uint64_t none = 0;
    (void)raw(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
    leave_session();
    return 0;
  }

  long join_cgroups() noexcept {
    for (const int tasks : part_.tasks) {
      if (const long r = raw(SYS_write, tasks, "0", 1); r < 0) {
        return r;
      }
    }
    return 0;
  }

  long become_root() noexcept {
    const long r = await_maker(part_.go, part_.maker);
    return r < 0 ? r : become(0, 0);
  }

  long make_way_out() noexcept {
    return part_.egress_port == 0 ? 0 : provide_way_out(part_.egress_port, part_.way_out_to);
  }

  long make_root() noexcept {
    // Otherwise a mount that the host adds later below a source would show up inside, and writable.
    if (const long r = raw(SYS_mount, nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr); r < 0) {
      return r;
    }
    // A directory that exists everywhere, and that is neither a mount's source nor below one.
    constexpr const char* kPlace = "/proc/fs";
    if (const long r = raw(SYS_mount, "glovebox", kPlace, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                           "mode=0755,size=64k,nr_inodes=64");
        r < 0) {
      return r;
    }
    if (const long r = raw(SYS_chdir, kPlace); r < 0) {
      return r;
    }
    for (const char* const directory : part_.directories) {
      if (const long r = raw(SYS_mkdir, directory, 0755); r < 0) {
        return r;
      }
    }
    for (const char* const file : part_.files) {
      const long fd = raw(SYS_open, file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
      if (fd < 0) {
        return fd;
      }
      (void)raw(SYS_close, fd);
    }
    return 0;
  }

  long bind_mounts() noexcept {
    for (const Graft& graft : part_.grafts) {
      if (const long r = raw(SYS_move_mount, graft.mount_fd, "", AT_FDCWD, graft.target,
                             abi::kMoveMountFromEmptyPath);
          r < 0) {
        return r;
      }
      if (const long r = close_for_writing(graft.target, kReadOnly); r < 0) {
        return r;
      }
    }
    for (const Bind& bind : part_.binds) {
      if (const long r =
              raw(SYS_mount, bind.source, bind.target, nullptr, MS_BIND | MS_REC, nullptr);
          r < 0) {
        return r;
      }
      if (const long r = close_for_writing(bind.target, kReadOnly | bind.attributes); r < 0) {
        return r;
      }
    }
    return 0;
  }

  static long close_for_writing(const char* mount, std::uint64_t attributes) noexcept {
    const abi::MountAttr set{.attr_set = attributes};
    return raw(SYS_mount_setattr, AT_FDCWD, mount, abi::kAtRecursive, &set, sizeof set);
  }

  long enter_root() noexcept {
    if (const long r = change_root(); r < 0) {
      return r;
    }
    const abi::MountAttr read_only{.attr_set = kReadOnly | abi::kMountNoexec};
    if (const long r = raw(SYS_mount_setattr, AT_FDCWD, "/", 0, &read_only, sizeof read_only);
        r < 0) {
      return r;
    }
    return raw(SYS_chdir, "/");
  }

  // Puts descriptors in their places, the program and the way to report failures after them, and
  // nothing else.
  long arrange_descriptors() noexcept {
    const std::size_t count = part_.descriptors.size();
    if (count > kMostDescriptors) {
      return -EINVAL;
    }
    std::array<long, kMostDescriptors + 2> aside;
    for (std::size_t i = 0; i < count + 2; ++i) {
      const int fd = i < count ? part_.descriptors[i] : i == count ? part_.program : part_.failure;
      aside[i] = raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kAside);
      if (aside[i] < 0) {
        return aside[i];
      }
    }
    for (std::size_t i = 0; i < count + 2; ++i) {
      const long r = raw(SYS_dup3, aside[i], i, i < count ? 0 : O_CLOEXEC);
      if (r < 0) {
        return r;
      }
    }
    program_ = static_cast<long>(count);
    failure_ = static_cast<long>(count) + 1;
    if (const long r = raw(SYS_close_range, count + 2, ~0U, 0); r < 0) {
      return r;
    }
    // If the limit of descriptors is lower, it starts without this.
    (void)raw(SYS_dup3, 0, kHighFd, O_CLOEXEC);
    return 0;
  }

  long drop_privileges() noexcept { return keep_capabilities(part_.capabilities); }

  long filter_calls() noexcept { return install_filter(part_.filter); }

  const KernelPart& part_;
  long program_ = part_.program;
  long failure_ = part_.failure;
};

}  // namespace

void enter_kernel_part(void* part) noexcept {
  Entrance(*static_cast<const KernelPart*>(part)).run();
}

}  // namespace glovebox::child
