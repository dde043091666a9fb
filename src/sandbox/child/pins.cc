// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/pins.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

namespace glovebox::child {
namespace {

using sys::raw;

long open_pin(long top, const Pin& pin) noexcept {
  const open_how how{
      .flags = static_cast<std::uint64_t>(O_PATH | O_CLOEXEC | (pin.directory ? O_DIRECTORY : 0)),
      .mode = 0,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  return raw(SYS_openat2, top, pin.path, &how, sizeof how);
}

// `mount` is a descriptor of the mount's root.
long make_read_only(long mount) noexcept {
  const abi::MountAttr attributes{.attr_set = abi::kMountRdonly};
  return raw(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
}

// Opens a mount to cover a hidden place with: a directory or a file, whichever is there, not
// whichever the policy says.
long open_cover(const Plan& plan, long place) noexcept {
  struct statx status {};
  if (const long r = raw(SYS_statx, place, "", AT_EMPTY_PATH, STATX_TYPE, &status); r < 0) {
    return r;
  }
  const char* const cover = S_ISDIR(status.stx_mode) ? plan.hidden_directory : plan.hidden_file;
  const long tree = raw(SYS_open_tree, AT_FDCWD, cover, abi::kOpenTreeClone | O_CLOEXEC);
  if (tree < 0) {
    return tree;
  }
  const long closed = make_read_only(tree);
  return closed < 0 ? closed : tree;
}

// What is above it was pinned before, so no part of its path is a link.
long hold(const Plan& plan, long top, const Pin& pin) noexcept {
  long place = open_pin(top, pin);
  if (place == -ENOENT) {
    const long made = pin.directory ? raw(SYS_mkdirat, top, pin.path, 0755)
                                    : raw(SYS_mknodat, top, pin.path, S_IFREG | 0644, 0);
    if (made == -EROFS && !pin.hidden) {
      return 0;  // A read-only volume, in which nobody can make it either.
    }
    place = made < 0 ? made : open_pin(top, pin);
  }
  if (place < 0) {
    return place;
  }
  const long tree =
      pin.hidden ? open_cover(plan, place)
                 : raw(SYS_open_tree, place, "", abi::kOpenTreeClone | AT_EMPTY_PATH | O_CLOEXEC);
  if (tree < 0) {
    return tree;
  }
  const long result = raw(SYS_move_mount, tree, "", place, "",
                          abi::kMoveMountFromEmptyPath | abi::kMoveMountToEmptyPath);
  (void)raw(SYS_close, tree);
  (void)raw(SYS_close, place);
  return result;
}

long close_pin(long top, const Pin& pin) noexcept {
  const long place = open_pin(top, pin);
  if (place < 0) {
    return place == -ENOENT ? 0 : place;  // Not made, see above.
  }
  const long result = make_read_only(place);
  (void)raw(SYS_close, place);
  return result;
}

}  // namespace

long pin_places(const Plan& plan, long& inner, std::uint32_t& detail) noexcept {
  if (plan.pins.empty()) {
    return 0;
  }
  inner = raw(SYS_open, plan.pinned_place, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (inner < 0) {
    return inner;
  }
  // With everything that is mounted in it: volumes.
  if (const long r =
          raw(SYS_mount, plan.pinned_place, plan.pinned_place, nullptr, MS_BIND | MS_REC, nullptr);
      r < 0) {
    return r;
  }
  const long top = raw(SYS_open, plan.pinned_place, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (top < 0) {
    return top;
  }
  for (const Pin& each : plan.pins) {
    if (const long r = hold(plan, top, each); r < 0) {
      return r;
    }
    ++detail;
  }
  // Not earlier: pins below it may have to be made first.
  for (const Pin& each : plan.pins) {
    if (const long r = each.closed ? close_pin(top, each) : 0; r < 0) {
      return r;
    }
  }
  (void)raw(SYS_close, top);
  return 0;
}

}  // namespace glovebox::child
