// SPDX-License-Identifier: Apache-2.0
#include "base/sys/draft_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/sys/tree.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr int kAttempts = 128;

std::string unnamed_in(const std::string& directory) {
  std::string path = directory + "/" + std::string(kUnnamed) + "XXXXXX";
  return ::mkdtemp(path.data()) != nullptr ? path : std::string();
}

}  // namespace

bool is_named(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

UniqueFd lock_directory(const std::string& path, int how) {
  for (;;) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::flock(fd.get(), how) != 0) {
      return {};
    }
    // It may have been removed, or renamed, before it was locked.
    if (is_named(fd.get(), path)) {
      return fd;
    }
  }
}

Result<DraftDirectory> make_draft_directory(const std::string& directory) {
  // Before it is locked, a process that removes what nobody holds may remove it: then we make
  // another.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = unnamed_in(directory);
    if (path.empty()) {
      return Error::from_errno("create a directory in " + printable(directory));
    }
    if (UniqueFd lock = lock_directory(path, LOCK_EX | LOCK_NB)) {
      if (::fchmod(lock.get(), 0755) != 0) {
        return Error::from_errno("open the directory " + printable(path) + " to others");
      }
      return DraftDirectory{.path = std::move(path), .lock = std::move(lock)};
    }
  }
  return Error(ErrorCode::kUnavailable,
               "directories in '" + printable(directory) + "' disappear after they are created",
               "check which other program removes directories there");
}

void sweep_drafts(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path();
    if (!at->path().filename().string().starts_with(kUnnamed)) {
      continue;
    }
    // Held until it is gone: a builder that has just made it then makes another one.
    if (const UniqueFd held = lock_directory(path, LOCK_EX | LOCK_NB)) {
      (void)sys::remove_tree(path);
    }
  }
}

std::string take_name(const std::string& directory, const std::string& path) {
  std::string away = unnamed_in(directory);
  return !away.empty() && ::rename(path.c_str(), away.c_str()) == 0 ? away : std::string();
}

}  // namespace glovebox
