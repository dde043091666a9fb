// SPDX-License-Identifier: Apache-2.0
#include "files/server/place.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace glovebox::files {
namespace {

constexpr int kMaxLinks = 40;  // As the kernel's MAXSYMLINKS.

struct Moved {
  const char* variable;
  std::string_view inside;
};
constexpr std::array<Moved, 2> kMoved = {
    {{kWorkspaceVariable, "/workspace"}, {kTmpVariable, "/tmp"}}};

std::string exchange_top(std::string_view path, std::string_view top, std::string_view by) {
  const bool fits = path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
  return fits ? std::string(by) + std::string(path.substr(top.size())) : std::string();
}

// The directory that is called `path` seen from `from`, made with its parents if it is missing.
Result<UniqueFd> make_directories(int from, std::string_view path) {
  UniqueFd at(::openat(from, path.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (at && !path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string part(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty()) {
      continue;
    }
    UniqueFd next(::openat(at.get(), part.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!next && errno == ENOENT) {
      if (::mkdirat(at.get(), part.c_str(), 0755) != 0 && errno != EEXIST) {
        return file_error("create directory " + part);
      }
      next = UniqueFd(::openat(at.get(), part.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    if (!next) {
      return file_error("open directory " + part);
    }
    at = std::move(next);
  }
  if (!at) {
    return file_error("open the working directory");
  }
  return at;
}

enum class Missing { kFail, kMake };

Result<Place> place_from(int from, std::string_view path, Missing missing) {
  if (path.empty()) {
    return Error(ErrorCode::kInvalid, "empty path");
  }
  while (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  const std::size_t slash = path.rfind('/');
  std::string_view directory = slash == std::string_view::npos ? "." : path.substr(0, slash + 1);
  std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.empty()) {
    name = ".";  // The root.
  }
  if (name.size() > NAME_MAX) {
    return file_error(path, ENAMETOOLONG);
  }
  const std::string text(directory);
  UniqueFd parent(::openat(from, text.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent) {
    if (errno != ENOENT || missing == Missing::kFail) {
      return file_error(path);
    }
    parent = GB_TRY(make_directories(from, directory));
  }
  return Place{std::move(parent), std::string(name)};
}

ErrorCode code_of(int errno_value) {
  switch (errno_value) {
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kRefused;
    case ENOTDIR:
    case EISDIR:
      return ErrorCode::kInvalid;
    case EEXIST:
    case ENOTEMPTY:
    case EBUSY:
    case ETXTBSY:
      return ErrorCode::kConflict;
    case EFBIG:
      return ErrorCode::kExhausted;
    case ECONNREFUSED:
    case ETIMEDOUT:
      return ErrorCode::kUnavailable;
    default:
      return Error::from_errno({}, errno_value).code();
  }
}

}  // namespace

Result<Place> find_place(std::string_view path) {
  return place_from(AT_FDCWD, inner_path(path), Missing::kFail);
}

Result<Place> make_place(std::string_view path) {
  return place_from(AT_FDCWD, inner_path(path), Missing::kMake);
}

Result<Place> follow_links(Place place) {
  for (int links = 0; links < kMaxLinks; ++links) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size =
        ::readlinkat(place.parent.get(), place.name.c_str(), target.data(), target.size());
    if (size < 0) {
      if (errno != EINVAL && errno != ENOENT) {
        return file_error(place.name);
      }
      return place;
    }
    place = GB_TRY(place_from(place.parent.get(), {target.data(), static_cast<std::size_t>(size)},
                              Missing::kFail));
  }
  return file_error(place.name, ELOOP);
}

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string path_of(int directory_fd, std::string_view name) {
  return path_of(directory_fd) + "/" + std::string(name);
}

std::string inner_path(std::string_view path) {
  for (const Moved& moved : kMoved) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread.
    if (const char* const to = std::getenv(moved.variable); to != nullptr) {
      if (std::string text = exchange_top(path, moved.inside, to); !text.empty()) {
        return text;
      }
    }
  }
  return std::string(path);
}

std::string outer_path(std::string_view path) {
  for (const Moved& moved : kMoved) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread.
    if (const char* const to = std::getenv(moved.variable); to != nullptr) {
      if (std::string text = exchange_top(path, to, moved.inside); !text.empty()) {
        return text;
      }
    }
  }
  return std::string(path);
}

Error file_error(std::string_view attempt) { return file_error(attempt, errno); }

Error file_error(std::string_view attempt, int errno_value) {
  return {code_of(errno_value), Error::from_errno(attempt, errno_value).message()};
}

}  // namespace glovebox::files
