// SPDX-License-Identifier: Apache-2.0
#include "files/server/entry.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/unique_fd.h"
#include "files/protocol.h"
#include "files/server/place.h"

namespace glovebox::files {
namespace {

FileEntry::Type type_of(mode_t mode) {
  if (S_ISREG(mode)) {
    return FileEntry::Type::kFile;
  }
  if (S_ISDIR(mode)) {
    return FileEntry::Type::kDirectory;
  }
  return S_ISLNK(mode) ? FileEntry::Type::kSymlink : FileEntry::Type::kOther;
}

// Where a link leads in the end.
void resolve(int directory_fd, const std::string& name, FileEntry& entry) {
  entry.target_type = FileEntry::Type::kSymlink;
  const UniqueFd end(::openat(directory_fd, name.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!end || ::fstat(end.get(), &status) != 0) {
    return;
  }
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlink(path_of(end.get()).c_str(), target.data(), target.size());
  if (size > 0) {
    entry.target = outer_path({target.data(), static_cast<std::size_t>(size)});
    entry.target_type = type_of(status.st_mode);
  }
}

}  // namespace

Result<FileEntry> describe(int directory_fd, const std::string& name, const Owners& owners) {
  struct stat status {};
  if (::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return file_error(name);
  }
  FileEntry entry;
  entry.type = type_of(status.st_mode);
  entry.size = static_cast<std::uint64_t>(status.st_size);
  entry.mode = status.st_mode & 07777U;
  entry.owner = owners.user(status.st_uid);
  entry.group = owners.group(status.st_gid);
  entry.modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  entry.target_type = entry.type;
  if (entry.type == FileEntry::Type::kSymlink) {
    resolve(directory_fd, name, entry);
  } else if (entry.type != FileEntry::Type::kOther) {
    entry.metadata = attributes_of(path_of(directory_fd, name));
  }
  return entry;
}

std::map<std::string, std::string> attributes_of(const std::string& path) {
  std::map<std::string, std::string> attributes;
  // No file has more (XATTR_LIST_MAX). Static: one thread, and most files need nothing of it.
  static std::array<char, XATTR_LIST_MAX> names;
  static std::array<char, XATTR_SIZE_MAX> value;
  ssize_t size = ::llistxattr(path.c_str(), names.data(), names.size());
  UniqueFd file;
  if (size < 0 && errno == EOPNOTSUPP) {
    // Where Landlock is the only wall the filter refuses attributes by path, and allows those of
    // what one may open (policy/tables.h).
    file =
        UniqueFd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    size = ::flistxattr(file.get(), names.data(), names.size());
  }
  std::size_t bytes = 0;
  for (ssize_t at = 0; at < size;) {
    const std::string_view name(names.data() + at);
    at += static_cast<ssize_t>(name.size()) + 1;
    if (!name.starts_with(kAttributePrefix)) {
      continue;
    }
    const ssize_t length = file
                               ? ::fgetxattr(file.get(), name.data(), value.data(), value.size())
                               : ::lgetxattr(path.c_str(), name.data(), value.data(), value.size());
    const std::string_view key = name.substr(kAttributePrefix.size());
    if (length < 0) {
      continue;
    }
    bytes += key.size() + static_cast<std::size_t>(length);
    if (attributes.size() == kMaxAttributes || bytes > kMaxAttributeBytes) {
      break;
    }
    attributes.emplace(key, std::string(value.data(), static_cast<std::size_t>(length)));
  }
  return attributes;
}

}  // namespace glovebox::files
