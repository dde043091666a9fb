// SPDX-License-Identifier: Apache-2.0
#include "warden/restorer.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "spec/warden_protocol.h"

namespace glovebox::warden {
namespace {

// Much more than any restore of what could be taken needs; it ends a race with a guest.
constexpr std::int64_t kMaxRestoreNs = 60'000'000'000;

// Names in our memory while a directory is emptied.
constexpr std::size_t kAtOnce = 1024;

Error too_busy() {
  return {ErrorCode::kUnavailable, "the files change faster than they can be restored"};
}

std::uint64_t bytes_of(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

// Sets only times that differ: it takes one call to look and none to leave them.
Result<void> finish(int fd, const Manifest::Entry& entry) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    return Error::from_errno("stat");
  }
  if (((status.st_mode ^ entry.mode) & 07777U) != 0 && ::fchmod(fd, entry.mode & 07777U) != 0) {
    return Error::from_errno("set the mode of");
  }
  if (nanoseconds(status.st_mtim) != entry.modified_ns) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    std::int64_t seconds = entry.modified_ns / kSecond;
    std::int64_t rest = entry.modified_ns % kSecond;
    if (rest < 0) {  // Before 1970.
      rest += kSecond;
      --seconds;
    }
    const std::array<timespec, 2> times = {{{0, UTIME_OMIT}, {seconds, rest}}};
    if (::futimens(fd, times.data()) != 0) {
      return Error::from_errno("set the time of");
    }
  }
  return {};
}

}  // namespace

Restorer::Restorer(Contents& contents,
                   const Manifest& manifest,
                   int workspace,
                   std::vector<Rewritten>& rewritten)
    : contents_(contents),
      manifest_(manifest),
      workspace_(workspace),
      rewritten_(rewritten),
      deadline_(kMaxRestoreNs) {}

Result<void> Restorer::run() {
  const Entry& root = manifest_.entries.front();
  struct stat status {};
  const auto open_root = [this, &status] { return open_directory(workspace_, ".", 0700, status); };
  UniqueFd directory = open_root();
  if (!directory) {
    return Error::from_errno("open the workspace");
  }
  Room room;
  measure(directory.get(), root, 0, room);
  auto fits = check(room);
  if (!fits) {
    (void)::fchmod(directory.get(), status.st_mode & 07777U);
    return fits;
  }
  directory = open_root();
  GB_TRY(prune(directory.get(), root));
  return fill(directory.get(), root, "");
}

bool Restorer::stays(const Entry* entry, const struct stat& status) const {
  if (entry == nullptr || ((entry->mode ^ status.st_mode) & S_IFMT) != 0) {
    return false;
  }
  return !S_ISREG(status.st_mode) ||
         contents_.identity(entry->value).inode == static_cast<std::uint64_t>(status.st_ino);
}

void Restorer::measure(int directory, const Entry& entry, std::size_t depth, Room& room) {
  std::vector<bool> there(entry.value);
  const Entry* const first = manifest_.entries.data() + entry.first;
  for_each_name(directory, [&](std::string_view each) {
    const std::string name(each);
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return true;
    }
    const Entry* const wanted = manifest_.find(entry, name);
    if (!stays(wanted, status)) {
      measure_removed(directory, name, status, depth + 1, room);
      return true;
    }
    there[static_cast<std::size_t>(wanted - first)] = true;
    if (S_ISDIR(status.st_mode)) {
      const UniqueFd below = open_anyway(directory, name, O_RDONLY | O_DIRECTORY);
      if (below) {
        measure(below.get(), *wanted, depth + 1, room);
      }
    } else if (S_ISREG(status.st_mode) && !contents_.seems_in(wanted->value, status)) {
      room.bytes_freed += bytes_of(status);
      room.bytes_taken += contents_.stored(wanted->value);
    }
    return true;
  });
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (!there[i]) {
      measure_missing(first[i], room);
    }
  }
}

void Restorer::measure_missing(const Entry& entry, Room& room) const {
  if (S_ISREG(entry.mode)) {
    room.bytes_taken += contents_.stored(entry.value);
  }
  if (S_ISDIR(entry.mode)) {
    for (std::uint32_t i = 0; i < entry.value; ++i) {
      measure_missing(manifest_.entries[entry.first + i], room);
    }
  }
  if (S_ISREG(entry.mode) || S_ISDIR(entry.mode) || S_ISLNK(entry.mode)) {
    ++room.inodes_taken;
  }
}

void Restorer::measure_removed(int directory,
                               const std::string& name,
                               const struct stat& status,
                               std::size_t depth,
                               Room& room) const {
  if (!S_ISDIR(status.st_mode)) {
    // Another name of the file would keep it.
    if (status.st_nlink == 1) {
      room.bytes_freed += bytes_of(status);
      ++room.inodes_freed;
    }
    return;
  }
  ++room.inodes_freed;
  const UniqueFd below = open_anyway(directory, name, O_RDONLY | O_DIRECTORY);
  // What is deeper is removed as well; not counting it errs on the safe side.
  if (!below || depth > kMaxSnapshotDepth) {
    return;
  }
  for_each_name(below.get(), [&](std::string_view each) {
    const std::string inner(each);
    struct stat found {};
    if (::fstatat(below.get(), inner.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
      measure_removed(below.get(), inner, found, depth + 1, room);
    }
    return !deadline_.passed();
  });
}

Result<void> Restorer::check(const Room& room) const {
  struct statfs status {};
  if (::fstatfs(workspace_, &status) != 0) {
    return Error::from_errno("statfs the workspace");
  }
  const std::uint64_t free = status.f_bavail * static_cast<std::uint64_t>(status.f_bsize);
  if (room.bytes_taken > free + room.bytes_freed ||
      (status.f_files > 0 && room.inodes_taken > status.f_ffree + room.inodes_freed)) {
    return Error::from_errno("restore the snapshot", ENOSPC);
  }
  return {};
}

Result<void> Restorer::prune(int directory, const Entry& entry) {
  // Found before any is removed: what a directory lists while it changes is not defined.
  std::vector<std::string> doomed;
  do {
    if (deadline_.passed()) {
      return too_busy();
    }
    doomed.clear();
    (void)::lseek(directory, 0, SEEK_SET);
    for_each_name(directory, [&](std::string_view each) {
      std::string name(each);
      struct stat status {};
      if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          !stays(manifest_.find(entry, name), status)) {
        doomed.push_back(std::move(name));
      }
      return doomed.size() < kAtOnce;
    });
    for (const std::string& name : doomed) {
      GB_TRY(remove(directory, name));
    }
  } while (doomed.size() == kAtOnce);
  for (std::uint32_t i = 0; i < entry.value; ++i) {
    const Entry& each = manifest_.entries[entry.first + i];
    if (S_ISDIR(each.mode)) {
      struct stat status {};
      const std::string name = manifest_.name_of(each);
      const UniqueFd below = open_directory(directory, name, 0700, status);
      if (below) {
        GB_TRY(prune(below.get(), each));
      } else if (errno != ENOENT) {
        return Error::from_errno("open " + name);
      }
    }
  }
  return {};
}

Result<void> Restorer::remove(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) {
    return {};
  }
  return errno == EISDIR ? remove_tree(directory, name)
                         : Result<void>(Error::from_errno("remove " + name));
}

// Directories may be nested without bound, so those within one are moved beside it first: two
// descriptors and no recursion are enough for any depth.
Result<void> Restorer::remove_tree(int parent, const std::string& name) {
  std::vector<std::string> aside;
  GB_TRY(set_aside(parent, name, aside));
  while (!aside.empty()) {
    if (deadline_.passed()) {
      return too_busy();
    }
    const std::string next = std::move(aside.back());
    aside.pop_back();
    struct stat status {};
    const UniqueFd directory = open_directory(workspace_, next, 0700, status);
    if (directory) {
      std::vector<std::string> names;
      for_each_name(directory.get(), [&](std::string_view each) {
        names.emplace_back(each);
        return names.size() < kAtOnce;
      });
      for (const std::string& each : names) {
        if (::unlinkat(directory.get(), each.c_str(), 0) != 0 && errno == EISDIR) {
          GB_TRY(set_aside(directory.get(), each, aside));
        }
      }
    }
    if (::unlinkat(workspace_, next.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
      continue;
    }
    if (errno == ENOTEMPTY) {
      aside.push_back(next);  // It held more than that, or a guest was quicker.
    } else if (errno != ENOTDIR || ::unlinkat(workspace_, next.c_str(), 0) != 0) {
      return Error::from_errno("remove " + name);
    }
  }
  return {};
}

Result<void> Restorer::set_aside(int parent,
                                 const std::string& name,
                                 std::vector<std::string>& aside) {
  for (bool widened = false;;) {
    std::string place = ".removed-" + std::to_string(next_aside_++);
    if (::renameat2(parent, name.c_str(), workspace_, place.c_str(), RENAME_NOREPLACE) == 0) {
      aside.push_back(std::move(place));
      return {};
    }
    if (errno == ENOENT) {
      return {};
    }
    struct stat status {};
    if (errno == EACCES && !widened && open_directory(parent, name, 0700, status)) {
      widened = true;  // Its own entry ".." changes with the move.
    } else if (errno != EEXIST) {
      return Error::from_errno("remove " + name);
    }
  }
}

Result<void> Restorer::fill(int directory, const Entry& entry, const std::string& path) {
  for (std::uint32_t i = 0; i < entry.value; ++i) {
    const Entry& each = manifest_.entries[entry.first + i];
    std::string below = path.empty() ? std::string() : path + "/";
    below += manifest_.name_of(each);
    auto done = fill_one(directory, each, below);
    if (!done) {
      return std::move(done).error().within("restore " + below);
    }
  }
  return finish(directory, entry);
}

Result<void> Restorer::fill_one(int directory, const Entry& entry, const std::string& path) {
  if (S_ISREG(entry.mode)) {
    return fill_file(directory, entry, path);
  }
  if (S_ISLNK(entry.mode)) {
    return fill_link(directory, entry);
  }
  if (!S_ISDIR(entry.mode)) {
    return {};
  }
  const std::string name = manifest_.name_of(entry);
  if (::mkdirat(directory, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create the directory");
  }
  struct stat status {};
  const UniqueFd below = open_directory(directory, name, 0700, status);
  if (!below) {
    return Error::from_errno("open the directory");
  }
  return fill(below.get(), entry, path);
}

Result<void> Restorer::fill_link(int directory, const Entry& entry) {
  const std::string name = manifest_.name_of(entry);
  const std::string target = manifest_.target_of(entry);
  std::array<char, 4096> present;
  const ssize_t size = ::readlinkat(directory, name.c_str(), present.data(), present.size());
  if (size >= 0 && std::string_view(present.data(), static_cast<std::size_t>(size)) == target) {
    return {};
  }
  if (size >= 0) {
    (void)::unlinkat(directory, name.c_str(), 0);
  }
  if (::symlinkat(target.c_str(), directory, name.c_str()) != 0) {
    return Error::from_errno("create the link");
  }
  return {};
}

Result<void> Restorer::fill_file(int directory, const Entry& entry, const std::string& path) {
  const std::string name = manifest_.name_of(entry);
  const Contents::Identity before = contents_.identity(entry.value);
  UniqueFd file = open_anyway(directory, name, O_RDONLY);
  struct stat status {};
  bool shared = false;
  if (file) {
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      return Error(ErrorCode::kUnavailable, "the path was replaced during the restore");
    }
    shared = open_for_writing(file.get());
  } else if (errno != ENOENT) {
    return Error::from_errno("open the file");
  }
  if (!file || !contents_.is_in(entry.value, file.get(), status, shared)) {
    file = GB_TRY(write_file(directory, entry, file));
  }
  GB_TRY(finish(file.get(), entry));
  if (::fstat(file.get(), &status) != 0) {
    return Error::from_errno("stat the file");
  }
  const Contents::Identity after = Contents::identity_of(status);
  if (after != contents_.identity(entry.value)) {
    contents_.settle(entry.value, status, shared);
  }
  if (after != before) {
    rewritten_.push_back({path, before, after});
  }
  return {};
}

Result<UniqueFd> Restorer::write_file(int directory, const Entry& entry, const UniqueFd& present) {
  const std::string name = manifest_.name_of(entry);
  const auto same_inode = [&](const UniqueFd& fd) {
    struct stat status {};
    return ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
           contents_.identity(entry.value).inode == static_cast<std::uint64_t>(status.st_ino);
  };
  if (present && same_inode(present)) {
    UniqueFd file = open_anyway(directory, name, O_WRONLY);
    if (file && same_inode(file)) {
      GB_TRY(contents_.write_to(entry.value, file.get(), deadline_));
      return file;
    }
  }
  // Not there; or it is a running program, which nobody may write to.
  (void)::unlinkat(directory, name.c_str(), 0);
  UniqueFd file(::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) {
    return Error::from_errno("create the file");
  }
  GB_TRY(contents_.write_to(entry.value, file.get(), deadline_));
  return file;
}

}  // namespace glovebox::warden
