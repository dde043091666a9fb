// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/crossing.h"

#include <linux/keyctl.h>
#include <poll.h>
#include <sys/mount.h>
#include <time.h>

#include <cerrno>

#include "base/sys/raw.h"

namespace glovebox::child {

using sys::raw;

// Not for ever: until our descriptors are arranged we hold copies of all that our maker had, the
// other ends of sandboxes that are born beside this one among them, as those hold ours. When the
// maker is killed now, none of them would ever close.
long await_maker(int from) noexcept {
  struct {
    int fd;
    short events;
    short revents;
  } polled = {from, POLLIN, 0};
  timespec patience{.tv_sec = 20, .tv_nsec = 0};
  if (const long r = raw(SYS_ppoll, &polled, 1, &patience, nullptr, 0); r <= 0) {
    return r < 0 ? r : -ETIMEDOUT;
  }
  char go = 0;
  const long got = raw(SYS_read, from, &go, 1);
  return got == 1 ? 0 : got < 0 ? got : -ECANCELED;
}

long become(std::uint32_t uid, std::uint32_t gid) noexcept {
  if (const long r = raw(SYS_setgroups, 0, nullptr); r < 0) {
    return r;
  }
  if (const long r = raw(SYS_setresgid, gid, gid, gid); r < 0) {
    return r;
  }
  return raw(SYS_setresuid, uid, uid, uid);
}

long change_root() noexcept {
  // pivot_root(2): with "." twice the old root ends up on top of the new one and is detached.
  const long r = raw(SYS_pivot_root, ".", ".");
  return r < 0 ? r : raw(SYS_umount2, ".", MNT_DETACH);
}

void leave_session() noexcept {
  (void)raw(SYS_setsid);
  (void)raw(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0);
}

}  // namespace glovebox::child
