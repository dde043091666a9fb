// SPDX-License-Identifier: Apache-2.0
#include "daemon/private_directory.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/sys/tree.h"
#include "daemon/directory_lock.h"

namespace glovebox {
namespace {

constexpr std::string_view kPrefix = "glovebox-private-";
constexpr std::string_view kPrivateRole = "private";
// A younger directory may not be locked yet.
constexpr std::chrono::seconds kYoung{60};

std::string parent_directory() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  const char* const named = std::getenv("TMPDIR");
  return named == nullptr || *named != '/' ? "/tmp" : named;
}

// Removes the directories of processes that were killed.
void sweep_directories(const std::string& parent) {
  DIR* const entries = ::opendir(parent.c_str());
  if (entries == nullptr) {
    return;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string path = parent + "/" + entry->d_name;
    struct stat status {};
    if (!std::string_view(entry->d_name).starts_with(kPrefix) ||
        ::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != ::geteuid() || ::time(nullptr) - status.st_mtime < kYoung.count()) {
      continue;
    }
    if (const auto lock = lock_directory(path, kPrivateRole, {})) {
      (void)sys::remove_tree(path);
    }
  }
  (void)::closedir(entries);
}

}  // namespace

PrivateDirectory::~PrivateDirectory() {
  if (!path_.empty()) {
    (void)sys::remove_tree(path_);
  }
}

Result<PrivateDirectory> PrivateDirectory::make() {
  const std::string parent = parent_directory();
  sweep_directories(parent);
  std::string path = parent + "/" + std::string(kPrefix) + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Error::from_errno("create a directory in " + parent)
        .with_hint("set TMPDIR to a directory that can be written");
  }
  PrivateDirectory made(std::move(path));
  made.lock_ = GB_TRY(lock_directory(made.path_, kPrivateRole, {}));
  return made;
}

}  // namespace glovebox
