// SPDX-License-Identifier: Apache-2.0
#include "warden/file_walls.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sys/beneath.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

namespace glovebox::warden {
namespace {

constexpr std::uint64_t kReading = abi::kFsReadFile | abi::kFsReadDir;
constexpr std::uint64_t kOpening = abi::kFsWriteFile | abi::kFsTruncate;
// For a file, the kernel takes only rights to its content.
constexpr std::uint64_t kOfFiles = abi::kFsReadFile | kOpening;

// What is not a file of anybody's. Not "/dev" itself, below which "/dev/shm" is.
constexpr std::array<std::string_view, 9> kDevices = {"proc",     "dev/null",   "dev/zero",
                                                      "dev/full", "dev/random", "dev/urandom",
                                                      "dev/tty",  "dev/ptmx",   "dev/pts"};

// All that changes files, as far as the kernel knows it: ABI 2 has rights for links and renames
// between directories, ABI 3 those for truncation.
std::uint64_t changing(long abi) {
  return (abi::kFsAllAbi1 & ~(kReading | abi::kFsExecute)) | (abi >= 2 ? abi::kFsRefer : 0) |
         (abi >= 3 ? abi::kFsTruncate : 0);
}

bool is_directory(const UniqueFd& place) {
  struct stat status {};
  return ::fstat(place.get(), &status) == 0 && S_ISDIR(status.st_mode);
}

// `access` is what the rule set handles.
Result<void> add(int ruleset, const UniqueFd& place, std::uint64_t access) {
  if (!is_directory(place)) {
    access &= kOfFiles;
  }
  if (access == 0) {
    return {};  // The kernel takes no empty rule.
  }
  const abi::LandlockPathBeneathAttr beneath{.allowed_access = access, .parent_fd = place.get()};
  const long r =
      sys::raw(SYS_landlock_add_rule, ruleset, abi::kLandlockRulePathBeneath, &beneath, 0);
  return r < 0 ? Result<void>(Error::from_errno("landlock_add_rule", static_cast<int>(-r)))
               : Result<void>();
}

enum class Missing { kIsMade, kFileStaysAway };

// The place itself, made if it is missing. No link is followed, so nothing that a guest has put
// there leads elsewhere.
Result<UniqueFd> open_place(const Workspace& workspace,
                            int top,
                            std::string_view place,
                            Missing missing) {
  if (place == "./") {
    return workspace.open(".", O_PATH | O_DIRECTORY);
  }
  if (place == "/") {
    return sys::open_beneath(top, ".", O_PATH | O_DIRECTORY);
  }
  const bool directory = place.ends_with('/');
  const bool absolute = place.starts_with('/');
  const std::string path(absolute ? place.substr(1) : place);
  const auto open = [&](int flags, std::uint32_t mode) {
    return absolute ? sys::open_beneath(top, path, flags, mode) : workspace.open(path, flags, mode);
  };
  if (auto there = open(O_PATH | (directory ? O_DIRECTORY : 0), 0)) {
    // A pattern for a file says nothing about what is in a directory of that name.
    return directory || !is_directory(*there) ? std::move(there)
                                              : Error::from_errno("open", EISDIR);
  }
  if (!directory && missing == Missing::kFileStaysAway) {
    return Error::from_errno("open", ENOENT);
  }
  // A path that ends in a slash has all of its directories made.
  (void)(absolute ? sys::make_parents_beneath(top, path) : workspace.make_parents(path));
  if (!directory) {
    (void)open(O_WRONLY | O_CREAT | O_EXCL, 0644);
  }
  return open(O_PATH | (directory ? O_DIRECTORY : 0), 0);
}

}  // namespace

Result<UniqueFd> make_file_walls(const Workspace& workspace, const StartRequest& request) {
  if (request.writes_everywhere && request.reads_everywhere) {
    return UniqueFd();
  }
  const long abi =
      sys::raw(SYS_landlock_create_ruleset, nullptr, 0, abi::kLandlockCreateRulesetVersion);
  if (abi < 0) {
    return Error::from_errno("landlock_create_ruleset", static_cast<int>(-abi));
  }
  const std::uint64_t writing = request.writes_everywhere ? 0 : changing(abi);
  const std::uint64_t reading = request.reads_everywhere ? 0 : kReading;
  const abi::LandlockRulesetAttr attributes{.handled_access_fs = writing | reading};
  const long made =
      sys::raw(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0);
  if (made < 0) {
    return Error::from_errno("landlock_create_ruleset", static_cast<int>(-made));
  }
  UniqueFd ruleset(static_cast<int>(made));
  const UniqueFd top(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const std::string_view device : kDevices) {
    if (const auto there = sys::open_beneath(top.get(), device, O_PATH)) {
      GB_TRY(add(ruleset.get(), *there, (kOpening & writing) | reading));
    }
  }
  // What cannot be opened stays closed.
  for (const std::string& place : request.writable) {
    if (const auto there = open_place(workspace, top.get(), place, Missing::kIsMade)) {
      GB_TRY(add(ruleset.get(), *there, writing));
    }
  }
  for (const std::string& place : request.readable) {
    if (const auto there = open_place(workspace, top.get(), place, Missing::kFileStaysAway)) {
      GB_TRY(add(ruleset.get(), *there, reading));
    }
  }
  for (const std::string& path : request.system) {
    if (const auto there = sys::open_beneath(top.get(), path.substr(1), O_PATH)) {
      GB_TRY(add(ruleset.get(), *there, reading));
    }
  }
  return ruleset;
}

}  // namespace glovebox::warden
