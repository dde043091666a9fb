// SPDX-License-Identifier: Apache-2.0
// Realm: a user and a pid namespace that sandboxes are made in.
//
// A realm is itself a sandbox, whose first process keeps the power over what is made below it and
// gives it to a zygote. The zygote can then put forks of itself into these sandboxes, and has power
// over nothing else. When the realm ends, all sandboxes in it end (pid_namespaces(7)).
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/unique_fd.h"

namespace glovebox {

struct Realm {
  UniqueFd user_ns;
  UniqueFd pid_ns;
  // As which it runs outside; sandboxes in it get user namespaces of this user's.
  uid_t uid = 0;
};

// What a zygote keeps, as bits of capabilities(7): CAP_SYS_PTRACE to name a sandbox by the pidfd of
// its warden and CAP_SYS_ADMIN to enter it (setns(2)). Its filter refuses what else they allow.
inline constexpr std::uint64_t kRealmCapabilities = 1ULL << 19 | 1ULL << 21;

}  // namespace glovebox
