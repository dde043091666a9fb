// SPDX-License-Identifier: Apache-2.0
#include "warden/workspace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/sys/beneath.h"
#include "base/sys/write_all.h"
#include "spec/guest.h"
#include "warden/directory.h"

namespace glovebox::warden {
namespace {

constexpr std::size_t kMaxListed = 200'000;
constexpr std::size_t kMaxDepth = 64;
constexpr std::int64_t kMaxListingNs = 2'000'000'000;

// The directory that a path starts from, and the path from there on.
struct Start {
  int directory;
  UniqueFd tmp;  // Owns `directory` when that is not the workspace.
  std::string_view path;
};

Start start_of(int workspace, std::string_view path) {
  if (path.starts_with("/tmp/")) {
    UniqueFd tmp(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int directory = tmp.get();
    return {directory, std::move(tmp), path.substr(5)};
  }
  const std::string home = std::string(kWorkspace) + "/";
  return {workspace, UniqueFd(), path.starts_with(home) ? path.substr(home.size()) : path};
}

}  // namespace

Result<Workspace> Workspace::create(UniqueFd store, std::vector<UniqueFd> others) {
  UniqueFd root(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  UniqueFd again(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root || !again) {
    return Error::from_errno("open the workspace");
  }
  Workspace workspace(std::move(root), std::move(again), std::move(store), std::move(others));
  workspace.used_by_us_ = workspace.disk_use();
  return workspace;
}

Result<UniqueFd> Workspace::open(std::string_view path, int flags, std::uint32_t mode) const {
  const Start start = start_of(root_.get(), path);
  return sys::open_beneath(start.directory, start.path, flags, mode);
}

Result<void> Workspace::make_parents(std::string_view path) const {
  const Start start = start_of(root_.get(), path);
  return sys::make_parents_beneath(start.directory, start.path);
}

Result<void> Workspace::write(const WriteRequest& request) const {
  GB_TRY(make_parents(request.path));
  const UniqueFd file = GB_TRY(open(request.path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  if (!sys::write_all(file.get(), request.bytes)) {
    return Error::from_errno("write " + request.path);
  }
  // No set-id bits: what comes from outside gives nobody power inside.
  if (::fchmod(file.get(), request.mode & 0777) != 0) {
    return Error::from_errno("set the mode of " + request.path);
  }
  return {};
}

Workspace::Listing Workspace::walk(std::string_view path, bool& truncated) const {
  Listing files;
  truncated = false;
  std::size_t visited = 0;
  const Deadline deadline(kMaxListingNs);
  std::vector<std::pair<std::string, std::size_t>> pending{{std::string(path), 0}};
  while (!pending.empty()) {
    const auto [directory, depth] = std::move(pending.back());
    pending.pop_back();
    const auto fd = open(directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY);
    if (!fd) {
      continue;  // Gone or swapped meanwhile, or not readable to anybody.
    }
    bool going_on = true;
    for_each_name(fd->get(), [&](std::string_view name) {
      if (++visited > kMaxListed || deadline.passed()) {
        truncated = true;
        going_on = false;
        return false;
      }
      std::string full =
          directory.empty() ? std::string(name) : directory + "/" + std::string(name);
      struct stat status {};
      if (::fstatat(fd->get(), std::string(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return true;
      }
      if (S_ISDIR(status.st_mode)) {
        if (depth < kMaxDepth) {
          pending.emplace_back(std::move(full), depth + 1);
        } else {
          truncated = true;
        }
      } else if (S_ISREG(status.st_mode)) {
        files[std::move(full)] = Seen{status.st_ino, static_cast<std::uint64_t>(status.st_size),
                                      nanoseconds(status.st_ctim)};
      }
      return true;
    });
    if (!going_on) {
      break;
    }
  }
  return files;
}

void Workspace::mark() {
  bool truncated = false;
  marked_ = walk("", truncated);
}

Result<void> Workspace::serve_snapshot(Request type, std::string_view payload) {
  const auto request = SnapshotRequest::decode(payload);
  if (!request) {
    return request.error();
  }
  snapshots_.trust_times(!request->thorough);
  if (type == Request::kSnapshot) {
    return snapshots_.take(request->id);
  }
  if (type == Request::kDropSnapshot) {
    return snapshots_.drop(request->id);
  }
  std::vector<Rewritten> rewritten;
  auto restored = snapshots_.restore(request->id, rewritten);
  keep_marks(rewritten);
  return restored;
}

DifferencesReport Workspace::compare(std::string_view payload) {
  const auto request = SnapshotRequest::decode(payload);
  snapshots_.trust_times(false);
  auto report = request ? snapshots_.compare(request->id)
                        : Result<DifferencesReport>(DifferencesReport{.truncated = true});
  return report ? std::move(report).value() : DifferencesReport{.truncated = true};
}

ContentReport Workspace::read_version(std::string_view payload) const {
  const auto request = VersionRequest::decode(payload);
  if (!request || request->max_bytes > kMaxVersion) {
    return {};
  }
  auto content = request->now
                     ? read_now(request->path, request->max_bytes)
                     : snapshots_.read(request->snapshot, request->path, request->max_bytes);
  return {.known = content.has_value(), .bytes = content.value_or(std::string())};
}

std::optional<std::string> Workspace::read_now(const std::string& path, std::size_t max) const {
  const std::size_t slash = path.rfind('/');
  const auto parent = sys::open_beneath(
      root_.get(), slash == std::string::npos ? "." : std::string_view(path).substr(0, slash),
      O_RDONLY | O_DIRECTORY);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  struct stat status {};
  if (!parent || ::fstatat(parent->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  std::string content(max + 1, '\0');
  ssize_t size = -1;
  if (S_ISLNK(status.st_mode)) {
    size = ::readlinkat(parent->get(), name.c_str(), content.data(), content.size());
  } else if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) <= max) {
    const UniqueFd file = open_anyway(parent->get(), name, O_RDONLY | O_NONBLOCK);
    size = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)
               ? ::pread(file.get(), content.data(), content.size(), 0)
               : -1;
  }
  if (size < 0 || static_cast<std::size_t>(size) > max) {
    return std::nullopt;
  }
  content.resize(static_cast<std::size_t>(size));
  return content;
}

void Workspace::keep_marks(const std::vector<Rewritten>& files) {
  const auto seen = [](const Contents::Identity& identity) {
    return Seen{identity.inode, identity.size, identity.changed_ns};
  };
  for (const Rewritten& file : files) {
    const auto found = marked_.find(file.path);
    if (found != marked_.end() && found->second == seen(file.before)) {
      found->second = seen(file.after);
    }
  }
}

FilesReport Workspace::changes() const {
  FilesReport report;
  const Listing now = walk("", report.truncated);
  // Bounded in bytes too, for it travels as one frame.
  std::size_t bytes = 0;
  const auto add = [&](const std::string& path, std::uint64_t size, FileChange::Kind kind) {
    bytes += path.size() + 16;
    if (report.files.size() >= kMaxListedFiles || bytes > 900'000) {
      report.truncated = true;
      return;
    }
    report.files.push_back({path, size, kind});
  };
  for (const auto& [path, seen] : now) {
    const auto before = marked_.find(path);
    if (before == marked_.end()) {
      add(path, seen.size, FileChange::Kind::kCreated);
    } else if (!(before->second == seen)) {
      add(path, seen.size, FileChange::Kind::kModified);
    }
  }
  if (!report.truncated) {
    for (const auto& [path, seen] : marked_) {
      if (!now.contains(path)) {
        add(path, 0, FileChange::Kind::kDeleted);
      }
    }
  }
  return report;
}

Workspace::DiskUse Workspace::disk_use() const {
  DiskUse use;
  const auto add = [&use](const UniqueFd& place) {
    struct statfs status {};
    if (::fstatfs(place.get(), &status) == 0) {
      use.bytes += (status.f_blocks - status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize);
      use.inodes += status.f_files - status.f_ffree;
      use.bytes_full = use.bytes_full || status.f_bavail == 0;
      use.inodes_full = use.inodes_full || (status.f_files > 0 && status.f_ffree == 0);
    }
  };
  add(root_);
  for (const UniqueFd& other : others_) {
    add(other);
  }
  use.bytes -= std::min(use.bytes, used_by_us_.bytes);
  use.inodes -= std::min(use.inodes, used_by_us_.inodes);
  return use;
}

}  // namespace glovebox::warden
