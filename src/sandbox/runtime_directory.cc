// SPDX-License-Identifier: Apache-2.0
#include "sandbox/runtime_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "sandbox/guest_ids.h"

namespace glovebox {

namespace {

constexpr const char* kOfRoot = "/run/glovebox";

// An absolute path from the environment, or nothing.
std::optional<std::string> path_in(const char* variable) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const value = std::getenv(variable);
  return value != nullptr && *value == '/' ? std::optional<std::string>(value) : std::nullopt;
}

std::string variable() { return ::geteuid() == 0 ? "GLOVEBOX_RUNTIME_DIR" : "XDG_RUNTIME_DIR"; }

}  // namespace

std::string runtime_directory() {
  if (::geteuid() == 0) {
    if (auto named = path_in("GLOVEBOX_RUNTIME_DIR")) {
      return *std::move(named);
    }
    if (guest_ids()) {
      return kOfRoot;
    }
  }
  if (const auto xdg = path_in("XDG_RUNTIME_DIR")) {
    return *xdg + "/glovebox";
  }
  return "/tmp/glovebox-" + std::to_string(::geteuid());
}

bool shares_slot_numbers() { return runtime_directory() != kOfRoot; }

Result<UniqueFd> open_private_directory(const std::string& path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory) {
      struct stat status {};
      if (::fstat(directory.get(), &status) != 0) {
        return Error::from_errno("stat " + path);
      }
      if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
        return Error(ErrorCode::kUnavailable,
                     path + " belongs to another user or is accessible to others",
                     "remove it, or set " + variable() + " to a directory with mode 0700");
      }
      return directory;
    }
    if (errno != ENOENT || (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)) {
      return Error::from_errno("create " + path)
          .with_hint("glovebox keeps track of its sandboxes there; make it writable, or set " +
                     variable());
    }
  }
  return Error(ErrorCode::kUnavailable, "no directory at " + path);
}

Result<UniqueFd> open_runtime_directory() { return open_private_directory(runtime_directory()); }

Result<UniqueFd> open_shared_runtime_directory() { return open_private_directory(kOfRoot); }

}  // namespace glovebox
