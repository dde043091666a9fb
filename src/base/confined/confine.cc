// SPDX-License-Identifier: Apache-2.0
#include "base/confined/confine.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/sys/raw.h"

namespace glovebox::confined {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kBoundsMemory = false;  // Their shadow takes terabytes of addresses.
#else
constexpr bool kBoundsMemory = true;
#endif

Result<void> bound(__rlimit_resource what, std::uint64_t soft, std::uint64_t hard) {
  const rlimit limit{soft, hard};
  return ::setrlimit(what, &limit) == 0 ? Result<void>() : Error::from_errno("setrlimit");
}

// In a user namespace of its own anybody may change the root. If none can be had, root may do so
// all the same. No id is mapped: files are made with the id that the process has outside.
Result<void> enter_root() {
  (void)::unshare(CLONE_NEWUSER);
  if (::chroot(".") != 0 || ::chdir("/") != 0) {
    return Error::from_errno("chroot").with_hint("allow user namespaces, or run glovebox as root");
  }
  return {};
}

Result<void> drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      sys::raw(SYS_capset, &header, none.data()) != 0) {
    return Error::from_errno("capset");
  }
  return {};
}

}  // namespace

Result<void> confine_self(const Bounds& bounds, Root root, std::span<const sock_filter> filter) {
  (void)::umask(022);
  if (sys::raw(SYS_close_range, bounds.descriptors, ~0U, 0) != 0) {
    return Error(ErrorCode::kUnsupported, "close_range is not available", "use Linux 5.9 or later");
  }
  if (root == Root::kEnter) {
    GB_TRY(enter_root());
  }
  GB_TRY(drop_capabilities());
  // After the last change of rights, which would undo it.
  if (bounds.ends_with_parent && ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
    return Error::from_errno("prctl");
  }
  if (kBoundsMemory) {
    GB_TRY(bound(RLIMIT_AS, bounds.memory, bounds.memory));
  }
  // SIGXCPU names the cause; a program that holds it off gets SIGKILL a second later.
  GB_TRY(bound(RLIMIT_CPU, bounds.cpu_seconds, bounds.cpu_seconds + 1));
  GB_TRY(bound(RLIMIT_FSIZE, bounds.file_size, bounds.file_size));
  GB_TRY(bound(RLIMIT_CORE, 0, 0));
  return install_filter(filter);
}

int exit_status_of(const Result<void>& done) {
  if (done) {
    return 0;
  }
  const Error& error = done.error();
  const std::string text = error.message() + "\n" + error.hint();
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  return 1 + static_cast<int>(error.code());
}

}  // namespace glovebox::confined
