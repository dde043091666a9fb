// SPDX-License-Identifier: Apache-2.0
#include "archiver/filter.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "base/confined/filter.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

namespace glovebox::archiver {
namespace {

constexpr std::array<std::uint32_t, 18> kFiles = {
    SYS_read,      SYS_write,   SYS_openat2,    SYS_close,     SYS_fstat,  SYS_newfstatat,
    SYS_lseek,     SYS_mkdirat, SYS_unlinkat,   SYS_symlinkat, SYS_fchmod, SYS_ftruncate,
    SYS_utimensat, SYS_openat,  SYS_getdents64, SYS_fcntl,     SYS_dup,    SYS_fsync};

constexpr std::array<std::uint32_t, 4> kRoots = {SYS_linkat, SYS_renameat, abi::kSysFchmodat2,
                                                 SYS_chmod};

constexpr std::array<std::uint32_t, 12> kReading = {
    SYS_read,  SYS_pread64,    SYS_write, SYS_openat2,    SYS_close,      SYS_fstat,
    SYS_lseek, SYS_newfstatat, SYS_fcntl, SYS_readlinkat, SYS_getdents64, SYS_openat};

constexpr auto kFilesFilter = confined::allow_only(confined::join(kFiles, confined::kMemoryAndEnd));
constexpr auto kRootsFilter =
    confined::allow_only(confined::join(confined::join(kFiles, kRoots), confined::kMemoryAndEnd));
constexpr auto kReadingFilter =
    confined::allow_only(confined::join(kReading, confined::kMemoryAndEnd));

}  // namespace

std::span<const sock_filter> filter_for_files() { return kFilesFilter; }
std::span<const sock_filter> filter_for_roots() { return kRootsFilter; }
std::span<const sock_filter> filter_for_reading() { return kReadingFilter; }

bool give_up_changes() {
  const long version =
      sys::raw(SYS_landlock_create_ruleset, nullptr, 0, abi::kLandlockCreateRulesetVersion);
  abi::LandlockRulesetAttr attributes{.handled_access_fs =
                                          abi::kFsAllAbi1 &
                                          ~(abi::kFsExecute | abi::kFsReadFile | abi::kFsReadDir)};
  attributes.handled_access_fs |= version >= 2 ? abi::kFsRefer : 0;
  attributes.handled_access_fs |= version >= 3 ? abi::kFsTruncate : 0;
  // Every kernel takes the first member alone. No rule allows anything.
  const long ruleset = version < 1 ? -1
                                   : sys::raw(SYS_landlock_create_ruleset, &attributes,
                                              sizeof attributes.handled_access_fs, 0);
  if (ruleset < 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return false;
  }
  const bool given_up = sys::raw(SYS_landlock_restrict_self, ruleset, 0) == 0;
  (void)::close(static_cast<int>(ruleset));
  return given_up;
}

}  // namespace glovebox::archiver
