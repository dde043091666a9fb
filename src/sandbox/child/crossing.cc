// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/crossing.h"

#include <linux/keyctl.h>
#include <poll.h>
#include <sys/mount.h>
#include <time.h>

#include <array>
#include <cerrno>

#include "base/sys/raw.h"

namespace glovebox::child {

using sys::raw;

// A maker that is killed closes nothing for us: until our descriptors are arranged we hold copies
// of all that it had, its side of `from` and the lock of its data directory among them, and so does
// every child born at the same time.
long await_word(int from, int maker) noexcept {
  std::array<pollfd, 2> polled{{{from, POLLIN, 0}, {maker, POLLIN, 0}}};
  timespec patience{.tv_sec = 20, .tv_nsec = 0};
  if (const long r = raw(SYS_ppoll, polled.data(), polled.size(), &patience, nullptr, 0); r <= 0) {
    return r < 0 ? r : -ETIMEDOUT;
  }
  return polled[0].revents != 0 ? 0 : -ECANCELED;
}

long await_maker(int from, int maker) noexcept {
  if (const long r = await_word(from, maker); r < 0) {
    return r;
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
