// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>

#include <array>
#include <cerrno>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

namespace glovebox::child {
namespace {

using sys::raw;

long add_rule(long ruleset, long fd, std::uint64_t access, std::uint64_t known) noexcept {
  const abi::LandlockPathBeneathAttr beneath{.allowed_access = access & known,
                                             .parent_fd = static_cast<std::int32_t>(fd)};
  return raw(SYS_landlock_add_rule, ruleset, abi::kLandlockRulePathBeneath, &beneath, 0);
}

long add_rules(long ruleset,
               const Landlock& landlock,
               std::span<const int> programs,
               std::uint32_t& detail) noexcept {
  for (const int program : programs) {
    const long r = add_rule(ruleset, program, abi::kFsExecute | abi::kFsReadFile, landlock.fs);
    if (r < 0) {
      return r;
    }
  }
  for (const AccessRule& rule : landlock.rules) {
    const long fd = raw(SYS_openat, AT_FDCWD, rule.path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
      if (rule.optional) {
        continue;
      }
      return fd;
    }
    const long r = add_rule(ruleset, fd, rule.access, landlock.fs);
    (void)raw(SYS_close, fd);
    if (r < 0) {
      return r;
    }
    ++detail;
  }
  return 0;
}

// Drops all but `kept` from the bounding set.
long bound_capabilities(std::uint64_t kept) noexcept {
  for (unsigned capability = 0;; ++capability) {
    if ((kept >> capability & 1) != 0) {
      continue;
    }
    const long r = raw(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
    if (r == -EINVAL && capability > 0) {
      return 0;  // Past the last one that this kernel has.
    }
    if (r < 0) {
      return r;
    }
  }
}

long set_capabilities(std::uint64_t held, std::uint64_t inheritable) noexcept {
  struct {
    std::uint32_t version = _LINUX_CAPABILITY_VERSION_3;
    int pid = 0;
  } header;
  // Effective, permitted and inheritable, the lower halves first.
  const std::array<std::uint32_t, 6> sets = {
      static_cast<std::uint32_t>(held),        static_cast<std::uint32_t>(held),
      static_cast<std::uint32_t>(inheritable), static_cast<std::uint32_t>(held >> 32),
      static_cast<std::uint32_t>(held >> 32),  static_cast<std::uint32_t>(inheritable >> 32)};
  return raw(SYS_capset, &header, sets.data());
}

long install(std::span<const sock_filter> filter, unsigned long flags) noexcept {
  const struct {
    unsigned short length;
    const sock_filter* filter;
  } program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

}  // namespace

long lock_privileges() noexcept {
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (const long r = raw(SYS_prctl, PR_SET_SECUREBITS, kBits, 0, 0, 0); r < 0) {
    return r;
  }
  return bound_capabilities(0);
}

long drop_capabilities() noexcept {
  (void)raw(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return set_capabilities(0, 0);
}

long limit_privileges(std::uint64_t kept) noexcept {
  // A capability outside the bounding set cannot become inheritable, but it can stay so.
  constexpr std::uint64_t kAdmin = 1ULL << CAP_SYS_ADMIN;
  constexpr std::uint64_t kBounding = 1ULL << CAP_SETPCAP;
  if (const long r = set_capabilities(kept | kAdmin | kBounding, kAdmin); r < 0) {
    return r;
  }
  if (const long r = bound_capabilities(kept); r < 0) {
    return r;
  }
  return set_capabilities(kept | kAdmin, kAdmin);
}

long keep_capabilities(std::uint64_t kept) noexcept {
  (void)raw(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (const long r = bound_capabilities(kept); r < 0) {
    return r;
  }
  if (const long r = set_capabilities(kept, 0); r < 0) {
    return r;
  }
  return raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

long restrict_files(const Landlock& landlock,
                    std::span<const int> programs,
                    std::uint32_t& detail) noexcept {
  // Older kernels take a shorter structure; the caller cleared what the ABI does not have.
  const abi::LandlockRulesetAttr attributes{.handled_access_fs = landlock.fs,
                                            .scoped = landlock.scoped};
  const long size = landlock.abi >= 6 ? 24 : landlock.abi >= 4 ? 16 : 8;
  const long ruleset = raw(SYS_landlock_create_ruleset, &attributes, size, 0);
  if (ruleset < 0) {
    return ruleset;
  }
  // The kernel refuses rules for no rights.
  long result = landlock.fs == 0 ? 0 : add_rules(ruleset, landlock, programs, detail);
  if (result >= 0) {
    result = raw(SYS_landlock_restrict_self, ruleset, 0);
  }
  (void)raw(SYS_close, ruleset);
  return result;
}

long install_filter(std::span<const sock_filter> filter) noexcept { return install(filter, 0); }

long install_watched_filter(std::span<const sock_filter> filter) noexcept {
  constexpr unsigned long kWaitKillable = 1UL << 5;  // Linux 5.19.
  const long listener = install(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillable);
  return listener == -EINVAL ? install(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER) : listener;
}

}  // namespace glovebox::child
