// SPDX-License-Identifier: Apache-2.0
#include "daemon/data_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/unique_fd.h"
#include "daemon/directory_lock.h"
#include "volume/image_pool.h"

namespace glovebox {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kSharedMode = 01770;
constexpr std::array<std::string_view, 3> kLookedAt = {"templates", "volumes", "workspaces"};

Result<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return Error(ErrorCode::kInvalid, path + " is not a directory");
  }
  return status;
}

Result<void> make(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return Error::from_errno("create " + path)
        .with_hint("create its parent directory, or choose another directory with --data");
  }
  return {};
}

Result<void> own(const std::string& path, uid_t uid, gid_t gid) {
  return ::lchown(path.c_str(), uid, gid) == 0 ? Result<void>()
                                               : Error::from_errno("change the owner of " + path);
}

Result<void> own(const std::string& path, uid_t uid, gid_t gid, mode_t mode) {
  GB_TRY(own(path, uid, gid));
  return ::chmod(path.c_str(), mode) == 0 ? Result<void>()
                                          : Error::from_errno("change the mode of " + path);
}

// An image is the one kind of keeper's file among the tar archives. An archive that looks like one
// stays root's, and its owner cannot make sandboxes from it: nothing worse.
bool is_image(const std::string& path) {
  constexpr off_t kMagicAt = 1024 + 56;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<unsigned char, 2> magic{};
  const bool is_ext4 = file && ::pread(file.get(), magic.data(), magic.size(), kMagicAt) == 2 &&
                       magic[0] == 0x53 && magic[1] == 0xef;
  return is_ext4 || is_pooled(path);
}

bool is_keepers(std::string_view name) {
  return name == "images" || name == "keys" || name == "snapshots" || name.starts_with("keeper.") ||
         name.starts_with("pool.img") || std::ranges::find(kLookedAt, name) != kLookedAt.end();
}

// Hands root's files over to the daemon, while nobody else can reach any of them.
Result<void> hand_over(const std::string& path, const DaemonUser& user) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path, none)) {
    const std::string name = entry.path().filename().string();
    if (is_keepers(name)) {
      continue;
    }
    GB_TRY(own(entry.path().string(), user.uid, user.gid));
    if (entry.symlink_status(none).type() == fs::file_type::directory) {
      for (const auto& below : fs::recursive_directory_iterator(entry.path(), none)) {
        GB_TRY(own(below.path().string(), user.uid, user.gid));
      }
    }
  }
  for (const auto& entry : fs::directory_iterator(path + "/snapshots", none)) {
    if (!is_image(entry.path().string())) {
      GB_TRY(own(entry.path().string(), user.uid, user.gid));
    }
  }
  for (const auto& entry : fs::directory_iterator(path + "/templates", none)) {
    // The files that a workspace begins with, which the daemon copies.
    (void)::chmod((entry.path() / "home.tar").c_str(), 0644);
  }
  return {};
}

}  // namespace

Result<Sharing> open_data_directory(const std::string& path) {
  GB_TRY(make(path, 0700));
  const struct stat status = GB_TRY(status_of(path));
  if (status.st_uid == ::geteuid() && (status.st_mode & 077) == 0) {
    return Sharing::kAlone;
  }
  if (status.st_uid == 0 && (status.st_mode & 07777) == kSharedMode) {
    if (::geteuid() != 0 && status.st_gid == ::getegid()) {
      return Sharing::kShared;
    }
    return Error(ErrorCode::kRefused,
                 "the data directory " + path + " belongs to a daemon with a user of its own",
                 "run 'glovebox serve --user NAME' with that user, or choose another directory");
  }
  return Error(ErrorCode::kRefused, "other users can access the data directory " + path,
               "run 'chmod 700 " + path + "' as its owner");
}

Result<void> share_data_directory(const std::string& path, const DaemonUser& user) {
  GB_TRY(make(path, 0700));
  const struct stat status = GB_TRY(status_of(path));
  const bool shared = (status.st_mode & 07777) == kSharedMode;
  if (status.st_uid != 0 || (shared && status.st_gid != user.gid) ||
      (!shared && (status.st_mode & 077) != 0)) {
    return Error(ErrorCode::kRefused,
                 "the data directory " + path + " belongs to another user, or others can access it",
                 "choose a new directory, or one that root's daemon has used");
  }
  if (!shared) {
    const UniqueFd unused = GB_TRY(lock_directory(path, "daemon", std::chrono::seconds(2)));
    GB_TRY(hand_over(path, user));
  }
  // If the daemon put something in the place of one of these, it is left as it is: the keeper
  // refuses it.
  for (const std::string_view name : kLookedAt) {
    const std::string directory = path + "/" + std::string(name);
    GB_TRY(make(directory, 0700));
    const struct stat found = GB_TRY(status_of(directory));
    if (found.st_uid == 0) {
      GB_TRY(own(directory, 0, user.gid, 0750));
    }
  }
  const std::string snapshots = path + "/snapshots";
  GB_TRY(make(snapshots, 0700));
  if (GB_TRY(status_of(snapshots)).st_uid == 0) {
    GB_TRY(own(snapshots, 0, user.gid, kSharedMode));
  }
  // Last: if we are cut short before this, the next attempt hands everything over again.
  return shared ? Result<void>() : own(path, 0, user.gid, kSharedMode);
}

}  // namespace glovebox
