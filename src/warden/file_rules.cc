// SPDX-License-Identifier: Apache-2.0
#include "warden/file_rules.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/unique_fd.h"

namespace glovebox::warden {
namespace {

constexpr std::uint64_t kRead = abi::kFsExecute | abi::kFsReadFile | abi::kFsReadDir;

std::uint64_t rights_of(long abi) {
  return abi::kFsAllAbi1 | (abi >= 2 ? abi::kFsRefer : 0) | (abi >= 3 ? abi::kFsTruncate : 0) |
         (abi >= 5 ? abi::kFsIoctlDev : 0);
}

Result<void> allow(int ruleset, int fd, std::uint64_t access, std::uint64_t known) {
  const abi::LandlockPathBeneathAttr beneath{.allowed_access = access & known, .parent_fd = fd};
  const long r =
      sys::raw(SYS_landlock_add_rule, ruleset, abi::kLandlockRulePathBeneath, &beneath, 0);
  return r < 0 ? Result<void>(Error::from_errno("allow files", static_cast<int>(-r)))
               : Result<void>();
}

Result<void> allow(int ruleset,
                   const std::string& path,
                   std::uint64_t access,
                   std::uint64_t known) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return place ? allow(ruleset, place.get(), access, known) : Error::from_errno("open " + path);
}

}  // namespace

Result<std::uint32_t> restrict_files(const std::vector<std::string>& written,
                                     int archiver,
                                     int store) {
  const long abi =
      sys::raw(SYS_landlock_create_ruleset, nullptr, 0, abi::kLandlockCreateRulesetVersion);
  if (abi <= 0) {
    return std::uint32_t{0};
  }
  const std::uint64_t known = rights_of(abi);
  abi::LandlockRulesetAttr attributes{.handled_access_fs = known};
  if (abi >= 6) {
    attributes.scoped = abi::kScopeAbstractUnixSocket | abi::kScopeSignal;
  }
  const long made = sys::raw(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  if (made < 0) {
    return Error::from_errno("make rules for files", static_cast<int>(-made));
  }
  const UniqueFd ruleset(static_cast<int>(made));
  GB_TRY(allow(ruleset.get(), "/", kRead, known));
  GB_TRY(allow(ruleset.get(), "/proc", kRead | abi::kFsWriteFile, known));
  GB_TRY(allow(ruleset.get(), "/dev",
               kRead | abi::kFsWriteFile | abi::kFsTruncate | abi::kFsIoctlDev, known));
  for (const std::string& path : written) {
    GB_TRY(allow(ruleset.get(), path, ~0ULL, known));
  }
  GB_TRY(allow(ruleset.get(), store, ~0ULL, known));
  GB_TRY(allow(ruleset.get(), archiver, abi::kFsExecute | abi::kFsReadFile, known));
  const long r = sys::raw(SYS_landlock_restrict_self, ruleset.get(), 0);
  return r < 0 ? Result<std::uint32_t>(Error::from_errno("restrict files", static_cast<int>(-r)))
               : Result<std::uint32_t>(static_cast<std::uint32_t>(abi));
}

}  // namespace glovebox::warden
