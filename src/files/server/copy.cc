// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/sys/write_all.h"
#include "files/protocol.h"
#include "files/server/entry.h"
#include "files/server/place.h"
#include "files/server/tree.h"

namespace glovebox::files {
namespace {

using Working = std::function<void()>;

void copy_facts(const std::string& from, const struct stat& status, int to) {
  for (const auto& [name, value] : attributes_of(from)) {
    const std::string full = std::string(kAttributePrefix) + name;
    (void)::fsetxattr(to, full.c_str(), value.data(), value.size(), 0);
  }
  (void)::fchmod(to, status.st_mode & 0777U);
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  (void)::futimens(to, times.data());
}

Result<void> copy_content(int from, int to, const Working& working) {
  static std::array<char, kPiece> piece;  // One thread.
  for (;;) {
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got == 0) {
      return {};
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return file_error("read");
    }
    if (!sys::write_all(to, {piece.data(), static_cast<std::size_t>(got)})) {
      return file_error("write");
    }
    working();
  }
}

Result<void> copy_file(int from_fd,
                       const std::string& from,
                       int to_fd,
                       const std::string& to,
                       const Working& working) {
  const UniqueFd source(
      ::openat(from_fd, from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!source || ::fstat(source.get(), &status) != 0) {
    return file_error(from);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error(ErrorCode::kConflict, from + " changed while it was being copied");
  }
  const UniqueFd target(
      ::openat(to_fd, to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target) {
    return file_error(to);
  }
  GB_TRY(copy_content(source.get(), target.get(), working));
  copy_facts(path_of(from_fd, from), status, target.get());
  return {};
}

Result<void> copy_link(int from_fd, const std::string& from, int to_fd, const std::string& to) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(from_fd, from.c_str(), target.data(), target.size() - 1);
  if (size < 0 || ::symlinkat(target.data(), to_fd, to.c_str()) != 0) {
    return file_error(from);
  }
  return {};
}

Result<void> copy_any(int from_fd,
                      const std::string& from,
                      int to_fd,
                      const std::string& to,
                      std::size_t depth,
                      const Working& working);

Result<void> copy_directory(int from_fd,
                            const std::string& from,
                            int to_fd,
                            const std::string& to,
                            std::size_t depth,
                            const Working& working) {
  const UniqueFd source = GB_TRY(enter(from_fd, from));
  struct stat status {};
  if (depth > kMaxDepth) {
    return Error(ErrorCode::kExhausted, "more than " + std::to_string(kMaxDepth) + " levels deep");
  }
  if (::fstat(source.get(), &status) != 0 || ::mkdirat(to_fd, to.c_str(), 0700) != 0) {
    return file_error(to);
  }
  const UniqueFd target(
      ::openat(to_fd, to.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!target) {
    return file_error(to);
  }
  for (const std::string& name : GB_TRY(names_in(source.get()))) {
    GB_TRY(copy_any(source.get(), name, target.get(), name, depth + 1, working));
  }
  copy_facts(path_of(source.get(), "."), status, target.get());
  return {};
}

Result<void> copy_any(int from_fd,
                      const std::string& from,
                      int to_fd,
                      const std::string& to,
                      std::size_t depth,
                      const Working& working) {
  working();
  struct stat status {};
  if (::fstatat(from_fd, from.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return file_error(from);
  }
  if (S_ISREG(status.st_mode)) {
    return copy_file(from_fd, from, to_fd, to, working);
  }
  if (S_ISLNK(status.st_mode)) {
    return copy_link(from_fd, from, to_fd, to);
  }
  if (S_ISDIR(status.st_mode)) {
    return copy_directory(from_fd, from, to_fd, to, depth, working);
  }
  return Error(
      ErrorCode::kUnsupported,
      from + " cannot be moved to another file system: it is not a file, directory or link");
}

}  // namespace

Result<void> copy_tree(int from_fd,
                       const std::string& from,
                       int to_fd,
                       const std::string& to,
                       const Working& working) {
  return copy_any(from_fd, from, to_fd, to, 1, working);
}

}  // namespace glovebox::files
