// SPDX-License-Identifier: Apache-2.0
#include "files/server/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "files/server/place.h"

namespace glovebox::files {
namespace {

struct DirectoryCloser {
  void operator()(DIR* directory) const { (void)::closedir(directory); }
};

bool is_directory(int directory_fd, const std::string& name) {
  struct stat status {};
  return ::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

Result<void> walk_below(int directory_fd,
                        const std::string& path,
                        std::size_t depth,
                        const Visit& visit) {
  if (depth > kMaxDepth) {
    return Error(ErrorCode::kExhausted, "more than " + std::to_string(kMaxDepth) + " levels deep");
  }
  const auto names = names_in(directory_fd);
  if (!names) {
    // The directory that was asked for must be readable; those below it need not be.
    return depth == 1 ? Result<void>(names.error()) : Result<void>();
  }
  for (const std::string& name : names.value()) {
    const std::string below = path.empty() ? name : path + "/" + name;
    if (!GB_TRY(visit({directory_fd, name, below, depth}))) {
      continue;
    }
    if (const auto directory = enter(directory_fd, name)) {
      GB_TRY(walk_below(directory->get(), below, depth + 1, visit));
    }
  }
  return {};
}

// Removes what lies in a directory, holding one directory at a time: the way back up is "..", and
// must lead to where the way down came from.
class Emptying {
 public:
  explicit Emptying(const std::function<void()>& working) : working_(working) {}

  Result<void> empty(UniqueFd top) {
    GB_TRY(go_down(std::move(top), ""));
    for (;;) {
      Level& level = levels_.back();
      if (!level.names.empty()) {
        const std::string name = std::move(level.names.back());
        level.names.pop_back();
        GB_TRY(remove(name));
      } else if (levels_.size() == 1) {
        return {};
      } else {
        GB_TRY(go_up());
      }
    }
  }

 private:
  struct Level {
    std::string name;  // In the level above.
    dev_t device;
    ino_t inode;
    std::vector<std::string> names;  // Still there.
  };

  Result<void> go_down(UniqueFd directory, const std::string& name) {
    struct stat status {};
    if (::fstat(directory.get(), &status) != 0) {
      return file_error("remove " + name);
    }
    auto names = GB_TRY(names_in(directory.get()));
    levels_.push_back({name, status.st_dev, status.st_ino, std::move(names)});
    at_ = std::move(directory);
    return {};
  }

  Result<void> go_up() {
    const Level below = std::move(levels_.back());
    levels_.pop_back();
    at_ = UniqueFd(::openat(at_.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!at_ || ::fstat(at_.get(), &status) != 0) {
      return file_error("remove " + below.name);
    }
    if (status.st_dev != levels_.back().device || status.st_ino != levels_.back().inode) {
      return Error(ErrorCode::kConflict, below.name + " was moved while it was being removed");
    }
    if (::unlinkat(at_.get(), below.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
      return file_error("remove " + below.name);
    }
    return {};
  }

  Result<void> remove(const std::string& name) {
    working_();
    if (::unlinkat(at_.get(), name.c_str(), 0) == 0 || errno == ENOENT) {
      return {};
    }
    if (errno != EISDIR && errno != EPERM) {
      return file_error("remove " + name);
    }
    auto below = enter(at_.get(), name);
    if (!below) {
      return below.error().code() == ErrorCode::kNotFound ? Result<void>() : below.error();
    }
    return go_down(std::move(below).value(), name);
  }

  const std::function<void()>& working_;
  UniqueFd at_;
  std::vector<Level> levels_;
};

}  // namespace

Result<std::vector<std::string>> names_in(int fd) {
  const int readable = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (readable < 0) {
    return file_error("read the directory");
  }
  const std::unique_ptr<DIR, DirectoryCloser> directory(::fdopendir(readable));
  if (!directory) {
    ::close(readable);
    return file_error("read the directory");
  }
  std::vector<std::string> names;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own.
  while (const dirent* const entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

Result<UniqueFd> enter(int directory_fd, const std::string& name) {
  UniqueFd directory(
      ::openat(directory_fd, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) {
    return file_error(name);
  }
  return directory;
}

Result<void> walk(int directory_fd, const Visit& visit) {
  return walk_below(directory_fd, "", 1, visit);
}

Result<void> remove_tree(int directory_fd,
                         const std::string& name,
                         const std::function<void()>& working) {
  if (::unlinkat(directory_fd, name.c_str(), 0) == 0 || errno == ENOENT) {
    return {};
  }
  const int error = errno;
  if ((error != EISDIR && error != EPERM) || !is_directory(directory_fd, name)) {
    return file_error("remove " + name, error);
  }
  UniqueFd top = GB_TRY(enter(directory_fd, name));
  GB_TRY(Emptying(working).empty(std::move(top)));
  if (::unlinkat(directory_fd, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return file_error("remove " + name);
  }
  return {};
}

std::string random_name(std::string_view prefix) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<unsigned char, 16> bytes{};
  (void)!::getrandom(bytes.data(), bytes.size(), 0);
  std::string name(prefix);
  for (const unsigned char byte : bytes) {
    name += kLetters[byte % kLetters.size()];
  }
  return name;
}

}  // namespace glovebox::files
