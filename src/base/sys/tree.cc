// SPDX-License-Identifier: Apache-2.0
#include "base/sys/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/unique_fd.h"

namespace glovebox::sys {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// Lets the owner of a directory, which O_PATH opened, do everything with it.
void allow_owner(int directory) {
  // Before Linux 6.6, /proc is the only way to the mode behind such a descriptor.
  if (raw(abi::kSysFchmodat2, directory, "", 0700, AT_EMPTY_PATH) != 0) {
    (void)!::chmod(("/proc/self/fd/" + std::to_string(directory)).c_str(), 0700);
  }
}

// Opens a directory that may have been made unreadable for its owner.
Directory open_directory(int parent, const char* name) {
  if (const UniqueFd place(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      place) {
    allow_owner(place.get());
  }
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    return {nullptr, ::closedir};
  }
  return {::fdopendir(fd), ::closedir};
}

// Moves a directory to `top`, under the first name "deep.N" above `last` that nothing has there.
bool lift(int parent, const char* name, int top, std::uint64_t& last) {
  do {
    const std::string lifted = "deep." + std::to_string(++last);
    if (::renameat(parent, name, top, lifted.c_str()) == 0) {
      return true;
    }
  } while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
  return false;
}

}  // namespace

Result<void> remove_tree(const std::string& path) { return remove_tree_at(AT_FDCWD, path); }

Result<void> remove_tree_at(int parent, const std::string& name) {
  // An explicit stack, and one descriptor a level: no depth that a guest chose overflows ours. A
  // tree deeper than our descriptors go is removed from below in several rounds.
  constexpr std::size_t kMaxOpen = 256;
  // For entries that appear behind the place that was read, because others still write to the
  // directory, or because its file system leaves out some of very many.
  int more_rounds = 16;
  std::uint64_t lifts = 0;
  for (;;) {
    std::vector<std::pair<Directory, std::string>> open;
    Directory top = open_directory(parent, name.c_str());
    if (!top) {
      return errno == ENOENT ? Result<void>() : Error::from_errno("open " + name);
    }
    open.emplace_back(std::move(top), name);
    bool lifted = false;
    bool left = false;
    while (!open.empty()) {
      DIR* const directory = open.back().first.get();
      const int fd = ::dirfd(directory);
      // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is read by one thread.
      const dirent* const entry = ::readdir(directory);
      if (entry == nullptr) {
        const std::string emptied = std::move(open.back().second);
        open.pop_back();
        const int above = open.empty() ? parent : ::dirfd(open.back().first.get());
        if (::unlinkat(above, emptied.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
          if (errno == ENOTEMPTY && (lifted || left || more_rounds > 0)) {
            left = true;
            continue;
          }
          return Error::from_errno("remove " + emptied);
        }
        continue;
      }
      const std::string below = entry->d_name;
      if (below == "." || below == "..") {
        continue;
      }
      if (::unlinkat(fd, below.c_str(), 0) == 0 || errno == ENOENT) {
        continue;
      }
      if (errno != EISDIR) {
        return Error::from_errno("remove " + below);
      }
      Directory next = open_directory(fd, below.c_str());
      if (!next) {
        return Error::from_errno("open " + below);
      }
      if (open.size() >= kMaxOpen) {
        // Carry the deep part up into the top, to be removed in the next round.
        if (!lift(fd, below.c_str(), ::dirfd(open.front().first.get()), lifts)) {
          return Error::from_errno("remove " + below);
        }
        lifted = true;
        continue;
      }
      open.emplace_back(std::move(next), below);
    }
    if (!lifted && !left) {
      return {};
    }
    more_rounds -= lifted ? 0 : 1;
  }
}

}  // namespace glovebox::sys
