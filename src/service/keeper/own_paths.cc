// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/own_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/sys/beneath.h"
#include "base/text.h"
#include "service/keeper/export_key.h"
#include "service/keeper/keeper.h"

namespace glovebox::keeper {
namespace {

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

Error refused(const std::string& path) {
  return {ErrorCode::kRefused, "'" + printable(path.substr(path.rfind('/') + 1)) +
                                   "' is not in the sandbox keeper's directories"};
}

bool is_keepers(std::string_view name) {
  return std::ranges::find(kKeeperDirectories, name) != kKeeperDirectories.end();
}

// Nobody else can replace it: it is in a directory of ours, or in a sticky one. A second name of a
// file may belong to somebody who may not read it.
bool is_ours(const struct stat& status) {
  return status.st_uid == ::geteuid() && (!S_ISREG(status.st_mode) || status.st_nlink == 1) &&
         (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

// Without parts that would make the first names differ from where the file really is.
bool is_plain(const std::string& name) {
  const std::string whole = "/" + name + "/";
  return whole.find("//") == std::string::npos && whole.find("/./") == std::string::npos &&
         whole.find("/../") == std::string::npos;
}

Result<void> make_own(int directory, const std::string& name) {
  if (::mkdirat(directory, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create the directory " + name);
  }
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
      ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0)) {
    return Error(ErrorCode::kRefused,
                 "other users can write to the directory '" + name + "' of the data directory",
                 "run 'glovebox serve' as the user that owns the data directory");
  }
  return {};
}

}  // namespace

Result<OwnPaths> OwnPaths::open(const std::string& directory) {
  std::array<char, PATH_MAX> real{};
  UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::realpath(directory.c_str(), real.data()) == nullptr) {
    return Error::from_errno("open the data directory");
  }
  for (const std::string_view name : kKeeperDirectories) {
    GB_TRY(make_own(fd.get(), std::string(name)));
  }
  GB_TRY(make_own(fd.get(), "images"));
  GB_TRY(make_own(fd.get(), std::string(ExportKey::kDirectory)));
  return OwnPaths(real.data(), std::move(fd));
}

// The daemon may know the directory by another name than we do, so the part of the path that names
// it is found by what it leads to.
Result<std::string> OwnPaths::below(const std::string& path) const {
  struct stat own {};
  if (::fstat(directory_.get(), &own) != 0) {
    return Error::from_errno("stat the data directory");
  }
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    struct stat status {};
    const std::size_t rest = path.find_first_not_of('/', slash);
    if (rest != std::string::npos && ::stat(path.substr(0, slash).c_str(), &status) == 0 &&
        is_same(status, own)) {
      return path.substr(rest);
    }
  }
  return refused(path);
}

Result<std::string> OwnPaths::resolve(const std::string& path) const {
  const std::string name = GB_TRY(below(path));
  const std::size_t first = name.find('/');
  if (!is_plain(name) || first == std::string::npos || !is_keepers(name.substr(0, first))) {
    return refused(path);
  }
  // What is deeper is as much ours as the entry that contains it.
  const std::size_t second = std::min(name.find('/', first + 1), name.size());
  struct stat status {};
  const auto owned = sys::open_beneath(directory_.get(), name.substr(0, second), O_PATH);
  const auto opened = sys::open_beneath(directory_.get(), name, O_PATH);
  for (const auto* const each : {&owned, &opened}) {
    if (!*each && each->error().code() == ErrorCode::kNotFound) {
      return Error(ErrorCode::kNotFound, "its files were removed");
    }
  }
  // With O_PATH a link at the end is opened itself.
  if (!owned || !opened || ::fstat(owned->get(), &status) != 0 || !is_ours(status) ||
      ::fstat(opened->get(), &status) != 0 || S_ISLNK(status.st_mode)) {
    return refused(path);
  }
  return path_ + "/" + name;
}

Result<std::string> OwnPaths::resolve_new(const std::string& path) const {
  const std::string name = GB_TRY(below(path));
  const std::size_t slash = name.find('/');
  const std::string file = slash == std::string::npos ? "" : name.substr(slash + 1);
  if (!is_plain(name) || file.empty() || file == "." || file == ".." ||
      file.find('/') != std::string::npos || !is_keepers(name.substr(0, slash))) {
    return refused(path);
  }
  return path_ + "/" + name;
}

Result<CreateOrder> OwnPaths::resolve(CreateOrder order) const {
  if (!order.saved.empty()) {
    order.saved = GB_TRY(resolve(order.saved));
  }
  if (!order.shows.root.empty()) {
    order.shows.root = GB_TRY(resolve(order.shows.root));
  }
  for (Mount& mount : order.shows.mounts) {
    if (mount.closed) {
      mount.source = GB_TRY(resolve(mount.source));
    }
  }
  for (std::string& content : order.shows.contents) {
    content = GB_TRY(resolve(content));
  }
  for (ImageOrder& image : order.images) {
    image.image = GB_TRY(resolve(image.image));
  }
  return order;
}

}  // namespace glovebox::keeper
