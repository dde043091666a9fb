// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/own_paths.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/sys/beneath.h"
#include "base/text.h"
#include "service/keeper/keeper.h"

namespace glovebox::keeper {
namespace {

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

Error refused(const std::string& path) {
  return {ErrorCode::kRefused,
          "'" + printable(path.substr(path.rfind('/') + 1)) + "' is not in the data directory"};
}

}  // namespace

Result<OwnPaths> OwnPaths::open(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return Error::from_errno("open the data directory");
  }
  return OwnPaths(std::move(fd));
}

// The daemon may know the directory by another name than we do, so the part of the path that names
// it is found by what it leads to. The rest is walked from our own descriptor.
Result<void> OwnPaths::check(const std::string& path) const {
  struct stat own {};
  if (::fstat(directory_.get(), &own) != 0) {
    return Error::from_errno("stat the data directory");
  }
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    struct stat status {};
    if (::stat(path.substr(0, slash).c_str(), &status) != 0 || !is_same(status, own)) {
      continue;
    }
    const std::size_t rest = path.find_first_not_of('/', slash);
    if (rest == std::string::npos) {
      break;
    }
    const auto opened = sys::open_beneath(directory_.get(), path.substr(rest), O_PATH);
    if (!opened && opened.error().code() == ErrorCode::kNotFound) {
      return Error(ErrorCode::kNotFound, "its files were removed");
    }
    // With O_PATH a link at the end is opened itself.
    const bool inside = opened && ::fstat(opened->get(), &status) == 0 && !S_ISLNK(status.st_mode);
    return inside ? Result<void>() : refused(path);
  }
  return refused(path);
}

Result<void> OwnPaths::check_parent(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? "" : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") {
    return refused(path);
  }
  return check(path.substr(0, slash));
}

Result<void> OwnPaths::check(const CreateOrder& order) const {
  if (!order.shows.root.empty()) {
    GB_TRY(check(order.shows.root));
  }
  for (const Mount& mount : order.shows.mounts) {
    if (mount.closed) {
      GB_TRY(check(mount.source));
    }
  }
  for (const std::string& content : order.shows.contents) {
    GB_TRY(check(content));
  }
  for (const ImageOrder& image : order.images) {
    GB_TRY(check(image.image));
  }
  return {};
}

}  // namespace glovebox::keeper
