// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/apply.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/digest/digest.h"
#include "base/random.h"
#include "base/sys/beneath.h"
#include "base/sys/write_all.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

Error changed_here(const std::string& path, const char* how) {
  return {ErrorCode::kConflict, printable(path) + ": " + how};
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string content;
  std::string piece(256UL << 10, '\0');
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Error::from_errno("read " + printable(path));
    }
    if (got == 0) {
      return content;
    }
    content.append(piece, 0, static_cast<std::size_t>(got));
  }
}

// Whether anything has that name, with no links among its directories.
Result<bool> is_there(int directory_fd, const std::string& path) {
  const auto place = place_below(directory_fd, path);
  struct stat status {};
  if (!place) {
    if (place.error().os_error() == ENOENT) {
      return false;
    }
    return place.error();
  }
  if (::fstatat(place->directory.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return true;
  }
  if (errno == ENOENT) {
    return false;
  }
  return Error::from_errno("stat " + printable(path));
}

// Whether the changes delete `path`. Only then can a new file replace it, or be below it.
bool is_deleted(const std::vector<Change>& changes, std::string_view path) {
  const auto found = std::ranges::lower_bound(changes, path, {}, &Change::path);
  return found != changes.end() && found->path == path && found->kind == Change::Kind::kDeleted;
}

// Why the directories above a new file cannot be made; nothing if they can.
std::optional<std::string> parent_problem(int directory_fd,
                                          const std::vector<Change>& changes,
                                          const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    const auto place = place_below(directory_fd, parent);
    struct stat status {};
    if (!place ||
        ::fstatat(place->directory.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return std::nullopt;  // Nothing there yet; place_below() would have failed earlier otherwise.
    }
    if (!S_ISDIR(status.st_mode)) {
      return is_deleted(changes, parent)
                 ? std::nullopt
                 : std::optional(S_ISLNK(status.st_mode)
                                     ? "its directory '" + parent + "' is a symbolic link here"
                                     : "its directory '" + parent + "' is a file here");
    }
  }
  return std::nullopt;
}

// Whether a directory in the way of a new file goes with its last file: the changes must delete all
// of its files.
bool goes_with_its_files(int directory_fd,
                         const CheckoutFiles& before,
                         const std::vector<Change>& changes,
                         const std::string& path) {
  const auto place = place_below(directory_fd, path);
  struct stat status {};
  if (!place ||
      ::fstatat(place->directory.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISDIR(status.st_mode)) {
    return false;
  }
  const std::string below = path + "/";
  bool any = false;
  for (auto each = before.lower_bound(below);
       each != before.end() && each->first.starts_with(below); ++each) {
    any = true;
    if (!is_deleted(changes, each->first)) {
      return false;
    }
  }
  return any;
}

mode_t mask_of_this_process() {
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  return mask;
}

// As git does: a file is executable for those who may read it, or for nobody.
mode_t with_execution(mode_t mode, bool executable) {
  return executable ? mode | ((mode & 0444U) >> 2U) : mode & ~static_cast<mode_t>(0111);
}

// A file beside the one that it replaces.
class Draft {
 public:
  Draft(int directory_fd, std::string name) : directory_fd_(directory_fd), name_(std::move(name)) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (!name_.empty()) {
      (void)::unlinkat(directory_fd_, name_.c_str(), 0);
    }
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  void renamed() { name_.clear(); }

 private:
  int directory_fd_;
  std::string name_;
};

class Application {
 public:
  Application(int directory_fd, const CheckoutFiles& before)
      : directory_fd_(directory_fd), before_(before), mask_(mask_of_this_process()) {}

  Result<void> remove(const Change& change) {
    (void)GB_TRY(content_here(directory_fd_, change.path, before_.at(change.path)));
    const PlaceBelow place = GB_TRY(place_below(directory_fd_, change.path));
    if (::unlinkat(place.directory.get(), place.name.c_str(), 0) != 0) {
      return Error::from_errno("remove " + printable(change.path));
    }
    // As git does: a directory without files goes, too.
    std::string parent = change.path;
    for (std::size_t slash = parent.rfind('/'); slash != std::string::npos;
         slash = parent.rfind('/')) {
      parent.resize(slash);
      const auto above = place_below(directory_fd_, parent);
      if (!above || ::unlinkat(above->directory.get(), above->name.c_str(), AT_REMOVEDIR) != 0) {
        break;
      }
    }
    return {};
  }

  Result<void> write(const Change& change) {
    GB_TRY(sys::make_parents_beneath(directory_fd_, change.path));
    const PlaceBelow place = GB_TRY(place_below(directory_fd_, change.path));
    const int directory = place.directory.get();
    Draft draft(directory, ".glovebox-" + random_name());
    mode_t mode = 0666 & ~mask_;
    if (change.kind == Change::Kind::kModified) {
      struct stat status {};
      if (::fstatat(directory, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISREG(status.st_mode)) {
        mode = status.st_mode & 0777;
      }
    }
    if (change.is_link) {
      if (::symlinkat(change.content.c_str(), directory, draft.name().c_str()) != 0) {
        return Error::from_errno("create the link " + printable(change.path));
      }
    } else {
      GB_TRY(fill(directory, draft.name(), change, with_execution(mode, change.executable)));
    }
    const bool is_new = change.kind == Change::Kind::kAdded;
    if (!is_new) {
      (void)GB_TRY(content_here(directory_fd_, change.path, before_.at(change.path)));
    }
    if (::renameat2(directory, draft.name().c_str(), directory, place.name.c_str(),
                    is_new ? RENAME_NOREPLACE : 0) != 0) {
      if (errno == EEXIST) {
        return changed_here(change.path, "it exists here now");
      }
      return Error::from_errno("replace " + printable(change.path));
    }
    draft.renamed();
    return {};
  }

 private:
  static Result<void> fill(int directory,
                           const std::string& name,
                           const Change& change,
                           mode_t mode) {
    const UniqueFd file(::openat(directory, name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file || !sys::write_all(file.get(), change.content) || ::fchmod(file.get(), mode) != 0) {
      return Error::from_errno("write " + printable(change.path));
    }
    return {};
  }

  const int directory_fd_;
  const CheckoutFiles& before_;
  const mode_t mask_;
};

}  // namespace

Result<std::string> content_here(int directory_fd,
                                 const std::string& path,
                                 const CheckoutFile& before) {
  const auto place = place_below(directory_fd, path);
  struct stat status {};
  if (!place ||
      ::fstatat(place->directory.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return changed_here(path, "it was removed here meanwhile");
  }
  std::string content;
  if (before.is_link && S_ISLNK(status.st_mode)) {
    content = GB_TRY(read_link_at(place->directory.get(), place->name));
  } else if (!before.is_link && S_ISREG(status.st_mode)) {
    const auto file = sys::open_beneath(place->directory.get(), place->name, O_RDONLY);
    if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      return changed_here(path, "it was changed here meanwhile");
    }
    content = GB_TRY(read_all(file->get(), path));
  } else {
    return changed_here(path, "it is of another kind here now");
  }
  const bool executable = !before.is_link && (status.st_mode & 0100) != 0;
  if (executable != before.executable || sha256_hex(content) != before.digest) {
    return changed_here(path, "it was changed here meanwhile");
  }
  return content;
}

std::vector<LeftBehind> find_conflicts(int directory_fd,
                                       const CheckoutFiles& before,
                                       const std::vector<Change>& changes) {
  std::vector<LeftBehind> conflicts;
  const auto add = [&](const Change& change, std::string reason) {
    conflicts.push_back({.path = change.path, .reason = std::move(reason)});
  };
  for (const Change& change : changes) {
    if (change.kind != Change::Kind::kAdded) {
      if (const auto here = content_here(directory_fd, change.path, before.at(change.path));
          !here) {
        add(change, here.error().code() == ErrorCode::kConflict
                        ? "changed or removed here meanwhile"
                        : here.error().message());
      }
      continue;
    }
    if (auto problem = parent_problem(directory_fd, changes, change.path)) {
      add(change, *std::move(problem));
      continue;
    }
    const auto there = is_there(directory_fd, change.path);
    if (there && *there && !goes_with_its_files(directory_fd, before, changes, change.path)) {
      add(change, "it exists here, and was not copied");
    }
  }
  return conflicts;
}

Result<void> apply_changes(int directory_fd,
                           const CheckoutFiles& before,
                           const std::vector<Change>& changes) {
  if (const auto conflicts = find_conflicts(directory_fd, before, changes); !conflicts.empty()) {
    return Error(
        ErrorCode::kConflict,
        "nothing was applied: " + printable(conflicts.front().path) + ": " +
            conflicts.front().reason +
            (conflicts.size() > 1 ? " (and " + std::to_string(conflicts.size() - 1) + " more)"
                                  : ""));
  }
  Application application(directory_fd, before);
  std::size_t done = 0;
  const auto checked = [&](Result<void> made) -> Result<void> {
    if (!made && done > 0) {
      return std::move(made).error().within(
          std::to_string(done) + " of " + std::to_string(changes.size()) + " changes were applied");
    }
    ++done;
    return made;
  };
  // Removals first: they make room, for example where a directory becomes a file.
  for (const Change& change : changes) {
    if (change.kind == Change::Kind::kDeleted) {
      GB_TRY(checked(application.remove(change)));
    }
  }
  for (const Change& change : changes) {
    if (change.kind != Change::Kind::kDeleted) {
      GB_TRY(checked(application.write(change)));
    }
  }
  return {};
}

}  // namespace glovebox::cli
