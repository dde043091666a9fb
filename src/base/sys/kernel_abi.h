// SPDX-License-Identifier: Apache-2.0
// Parts of the kernel's interface that Debian 12's headers (Linux 6.1) do not have yet, or that
// cannot be included beside libc's.
#pragma once

#include <cstdint>

namespace glovebox::abi {

// include/uapi/linux/landlock.h, up to ABI 7 (Linux 6.15).
struct LandlockRulesetAttr {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;  // ABI 4
  std::uint64_t scoped = 0;              // ABI 6
};
struct [[gnu::packed]] LandlockPathBeneathAttr {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};
inline constexpr std::uint32_t kLandlockCreateRulesetVersion = 1;
inline constexpr int kLandlockRulePathBeneath = 1;

inline constexpr std::uint64_t kFsExecute = 1ULL << 0;
inline constexpr std::uint64_t kFsWriteFile = 1ULL << 1;
inline constexpr std::uint64_t kFsReadFile = 1ULL << 2;
inline constexpr std::uint64_t kFsReadDir = 1ULL << 3;
inline constexpr std::uint64_t kFsMakeChar = 1ULL << 6;
inline constexpr std::uint64_t kFsMakeBlock = 1ULL << 11;
inline constexpr std::uint64_t kFsAllAbi1 = (1ULL << 13) - 1;
inline constexpr std::uint64_t kFsRefer = 1ULL << 13;                 // ABI 2
inline constexpr std::uint64_t kFsTruncate = 1ULL << 14;              // ABI 3
inline constexpr std::uint64_t kFsIoctlDev = 1ULL << 15;              // ABI 5
inline constexpr std::uint64_t kScopeAbstractUnixSocket = 1ULL << 0;  // ABI 6
inline constexpr std::uint64_t kScopeSignal = 1ULL << 1;              // ABI 6

// include/uapi/linux/mount.h
struct MountAttr {
  std::uint64_t attr_set = 0;
  std::uint64_t attr_clr = 0;
  std::uint64_t propagation = 0;
  std::uint64_t userns_fd = 0;
};
inline constexpr std::uint64_t kMountRdonly = 0x1;
inline constexpr std::uint64_t kMountNosuid = 0x2;
inline constexpr std::uint64_t kMountNodev = 0x4;
inline constexpr std::uint64_t kMountNoexec = 0x8;
inline constexpr std::uint64_t kMountIdmap = 0x00100000;  // Linux 5.12.
inline constexpr std::uint32_t kAtRecursive = 0x8000;
// include/uapi/linux/mount.h: open_tree and move_mount, as of Linux 5.2.
inline constexpr std::uint32_t kOpenTreeClone = 0x1;
inline constexpr std::uint32_t kMoveMountFromEmptyPath = 0x4;
inline constexpr std::uint32_t kMoveMountToEmptyPath = 0x40;
// Likewise: fsopen, fsconfig, fsmount.
inline constexpr std::uint32_t kFsopenCloexec = 0x1;
inline constexpr std::uint32_t kFsconfigSetString = 1;
inline constexpr std::uint32_t kFsconfigCreate = 6;
inline constexpr std::uint32_t kFsmountCloexec = 0x1;

// arch/x86/entry/syscalls/syscall_64.tbl, Linux 6.6.
inline constexpr long kSysFchmodat2 = 452;

// include/uapi/linux/sched.h: struct clone_args, as of Linux 5.7.
struct CloneArgs {
  std::uint64_t flags = 0;
  std::uint64_t pidfd = 0;
  std::uint64_t child_tid = 0;
  std::uint64_t parent_tid = 0;
  std::uint64_t exit_signal = 0;
  std::uint64_t stack = 0;
  std::uint64_t stack_size = 0;
  std::uint64_t tls = 0;
  std::uint64_t set_tid = 0;
  std::uint64_t set_tid_size = 0;
  std::uint64_t cgroup = 0;
};
inline constexpr std::uint64_t kCloneClearSighand = 0x100000000ULL;  // Linux 5.5.
inline constexpr std::uint64_t kCloneIntoCgroup = 0x200000000ULL;

}  // namespace glovebox::abi
