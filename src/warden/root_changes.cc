// SPDX-License-Identifier: Apache-2.0
#include "warden/root_changes.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/sys/beneath.h"
#include "base/sys/raw.h"
#include "warden/directory.h"

namespace glovebox::warden {
namespace {

constexpr std::size_t kMaxVisited = 200'000;
constexpr std::size_t kMaxDepth = 64;
constexpr std::int64_t kMaxWalkNs = 2'000'000'000;
constexpr std::size_t kBetweenLooks = 64;    // At the clock.
constexpr std::size_t kMaxReport = 900'000;  // Bytes: it travels as one frame.

constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;

// The set-up's own, or as short-lived as processes.
constexpr std::array<std::string_view, 4> kLeftOut = {"dev", "run", "sys", "tmp"};

std::int64_t nanoseconds(const statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// The clock that files are stamped with.
std::int64_t file_time() {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return warden::nanoseconds(now);
}

bool look(int directory, const char* name, struct statx& status) {
  return sys::raw(SYS_statx, directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, kWanted,
                  &status) == 0;
}

// Fails where something is mounted: that is not part of it.
UniqueFd open_within(int top, const std::string& path) {
  const open_how how{
      .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
      .mode = 0,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
  return UniqueFd(static_cast<int>(
      sys::raw(SYS_openat2, top, path.empty() ? "." : path.c_str(), &how, sizeof how)));
}

// Of a directory. A tmpfs counts the entries of each, "." and ".." among them.
std::uint64_t size_when_empty(int top) {
  constexpr std::uint64_t kEmpty = 40;
  struct statfs system {};
  return ::fstatfs(top, &system) == 0 && system.f_type == TMPFS_MAGIC ? kEmpty : 0;
}

// Documentation/filesystems/overlayfs.rst of Linux: what is below does not show through.
bool is_opaque(int directory) {
  char value = 0;
  return sys::raw(SYS_fgetxattr, directory, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

bool is_whiteout(const struct statx& status) {
  return S_ISCHR(status.stx_mode) && status.stx_rdev_major == 0 && status.stx_rdev_minor == 0;
}

}  // namespace

// Of all places together.
class RootChanges::Walk {
 public:
  // Older directories are left out if they are empty, as most in a root are.
  explicit Walk(std::int64_t since_ns) : since_ns_(since_ns) {}

  // Calls `file(path, status)` for what is not a directory, and `directory(path, descriptor)` for
  // each directory, below `begin` of the place.
  template <typename File, typename Directory>
  void go(const Place& place, const std::string& begin, File file, Directory directory) {
    struct statx top {};
    std::vector<std::pair<std::string, std::size_t>> pending{{begin, 0}};
    if (!look(place.top.get(), "", top)) {
      return;
    }
    const std::uint64_t empty = size_when_empty(place.top.get());
    if (begin.empty() && top.stx_size == empty && nanoseconds(top.stx_ctime) < since_ns_) {
      return;
    }
    while (!pending.empty() && !over_) {
      const auto [path, depth] = std::move(pending.back());
      pending.pop_back();
      const UniqueFd fd = open_within(place.top.get(), path);
      if (!fd) {
        continue;
      }
      directory(path, fd.get());
      for_each_name(fd.get(), [&](std::string_view name) {
        over_ = over_ || ++visited_ > kMaxVisited ||
                (visited_ % kBetweenLooks == 0 && deadline_.passed());
        if (over_) {
          return false;
        }
        struct statx status {};
        const std::string own(name);
        const bool at_top = place.prefix.empty() && path.empty();
        if ((at_top && std::ranges::find(kLeftOut, name) != kLeftOut.end()) ||
            !look(fd.get(), own.c_str(), status) || status.stx_mnt_id != top.stx_mnt_id) {
          return true;
        }
        std::string full = path.empty() ? own : path + "/" + own;
        if (!S_ISDIR(status.stx_mode)) {
          file(full, status);
        } else if (status.stx_size == empty && nanoseconds(status.stx_ctime) < since_ns_) {
          return true;
        } else if (depth < kMaxDepth) {
          pending.emplace_back(std::move(full), depth + 1);
        } else {
          truncated_ = true;
        }
        return true;
      });
    }
  }
  void stop() { over_ = true; }
  [[nodiscard]] bool truncated() const { return truncated_ || over_; }

 private:
  const std::int64_t since_ns_;
  const Deadline deadline_{kMaxWalkNs};
  std::size_t visited_ = 0;
  bool over_ = false;
  bool truncated_ = false;
};

// What differs, ordered by path; as much as the report has room for.
class RootChanges::Collection {
 public:
  explicit Collection(const FilesReport& report) : count_(report.files.size()) {
    for (const FileChange& file : report.files) {
      bytes_ += file.path.size() + kBeside;
    }
  }
  // False when there is no room.
  bool add(std::string path, std::uint64_t size, FileChange::Kind kind) {
    bytes_ += path.size() + kBeside;
    if (++count_ > kMaxListedFiles || bytes_ > kMaxReport) {
      return false;
    }
    FileChange change{.path = path, .size = size, .kind = kind};
    found_.insert_or_assign(std::move(path), std::move(change));
    return true;
  }
  void move_to(FilesReport& report) {
    for (auto& [path, change] : found_) {
      report.files.push_back(std::move(change));
    }
  }

 private:
  static constexpr std::size_t kBeside = 16;
  std::map<std::string, FileChange, std::less<>> found_;
  std::size_t count_;
  std::size_t bytes_ = 0;
};

std::vector<RootChanges::Place> RootChanges::places(bool all) const {
  std::vector<Place> found;
  const auto add = [&found](Result<UniqueFd> top, std::string lower, std::string prefix) {
    if (top) {
      found.push_back({std::move(top).value(), std::move(lower), std::move(prefix)});
    }
  };
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY;
  add(UniqueFd(::open("/", kDirectory | O_CLOEXEC)), "", "");
  // The part of the root that is on a disk and is not a layer.
  add(sys::open_beneath(layers_.get(), "root", kDirectory), "", "");
  const auto has_etc = [](const Place& place) { return bool(open_within(place.top.get(), "etc")); };
  if (!all && std::ranges::any_of(found, has_etc)) {
    return found;
  }
  for (const Overlay& overlay : overlays_) {
    if (all || overlay.target == "/etc") {
      add(sys::open_beneath(layers_.get(), overlay.layer + "/upper", kDirectory),
          overlay.layer + "/lower/", overlay.target);
    }
  }
  return found;
}

void RootChanges::mark() {
  if (!layers_) {
    return;
  }
  marked_.clear();
  marked_at_ns_ = file_time();
  Walk walk(marked_at_ns_);
  for (const Place& place : places(/*all=*/false)) {
    const std::string prefix = place.prefix + "/";
    walk.go(
        place, place.prefix.empty() ? "etc" : "",
        [&](const std::string& path, const struct statx& status) {
          marked_[prefix + path] = {status.stx_ino, nanoseconds(status.stx_ctime)};
        },
        [](const std::string& /*path*/, int /*directory*/) {});
  }
}

void RootChanges::add_to(FilesReport& report) const {
  if (!layers_) {
    return;
  }
  Walk walk(marked_at_ns_);
  Collection changes(report);
  std::set<std::string, std::less<>> still_there;
  for (const Place& place : places(/*all=*/true)) {
    const std::string prefix = place.prefix + "/";
    const bool is_overlay = !place.lower.empty();
    const auto is_shown = [&](const std::string& path) {
      return is_overlay && sys::open_beneath(layers_.get(), place.lower + path, O_PATH);
    };
    const auto is_older = [this](const struct statx& status) {
      return (status.stx_mask & STATX_BTIME) != 0 && nanoseconds(status.stx_btime) < marked_at_ns_;
    };
    const auto add = [&](const std::string& path, std::uint64_t size, FileChange::Kind kind) {
      if (!changes.add(prefix + path, size, kind)) {
        walk.stop();
      }
    };
    walk.go(
        place, "",
        [&](const std::string& path, const struct statx& status) {
          const bool deleted = is_overlay && is_whiteout(status);
          const auto before = marked_.find(prefix + path);
          const Seen now{status.stx_ino, nanoseconds(status.stx_ctime)};
          // What had been deleted before the mark is as it was.
          if (before != marked_.end() && (!deleted || before->second == now)) {
            still_there.insert(before->first);
          }
          if (now.changed_ns < marked_at_ns_ || (!deleted && !S_ISREG(status.stx_mode)) ||
              (before != marked_.end() && before->second == now)) {
            return;
          }
          const bool was_there = before != marked_.end() || is_older(status) || is_shown(path);
          add(path, deleted ? 0 : status.stx_size,
              deleted     ? FileChange::Kind::kDeleted
              : was_there ? FileChange::Kind::kModified
                          : FileChange::Kind::kCreated);
        },
        [&](const std::string& path, int directory) {
          // Made again in the place of a directory that was shown.
          struct statx status {};
          if (is_overlay && !path.empty() && is_opaque(directory) && look(directory, "", status) &&
              !is_older(status) && is_shown(path)) {
            add(path, 0, FileChange::Kind::kDeleted);
          }
        });
  }
  for (const auto& [path, seen] : marked_) {
    if (!walk.truncated() && !still_there.contains(path) &&
        !changes.add(path, 0, FileChange::Kind::kDeleted)) {
      walk.stop();
    }
  }
  report.truncated = report.truncated || walk.truncated();
  changes.move_to(report);
}

}  // namespace glovebox::warden
