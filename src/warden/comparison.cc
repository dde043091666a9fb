// SPDX-License-Identifier: Apache-2.0
#include "warden/comparison.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace glovebox::warden {
namespace {

constexpr std::int64_t kMaxWalkNs = 2'000'000'000;
constexpr std::size_t kMaxVisited = 200'000;
// It travels as one frame.
constexpr std::size_t kMaxBytes = 900'000;
constexpr std::size_t kBytesBeside = 48;  // Of a difference, beside its path.

// When it was last changed; nothing if our own look at it changes that (open_anyway()), and for
// directories, whose names are compared.
std::int64_t change_time(const struct stat& status) {
  return S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && (status.st_mode & 0400U) == 0)
             ? 0
             : nanoseconds(status.st_ctim);
}

FileDifference::Type type_of(mode_t mode) {
  return S_ISREG(mode)   ? FileDifference::Type::kFile
         : S_ISDIR(mode) ? FileDifference::Type::kDirectory
         : S_ISLNK(mode) ? FileDifference::Type::kLink
                         : FileDifference::Type::kOther;
}

std::uint32_t permissions(mode_t mode) { return S_ISLNK(mode) ? 0 : mode & 07777U; }

std::string link_at(int directory, const std::string& name) {
  std::array<char, 4096> target;
  const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace

Comparison::Comparison(Contents& contents, const Manifest& manifest, int workspace)
    : contents_(contents), manifest_(manifest), workspace_(workspace), deadline_(kMaxWalkNs) {}

DifferencesReport Comparison::run() {
  descend(workspace_, ".", &manifest_.entries.front(), "", 0);
  std::sort(report_.files.begin(), report_.files.end(),
            [](const FileDifference& a, const FileDifference& b) {
              return a.path != b.path ? a.path < b.path : a.kind > b.kind;
            });
  return std::move(report_);
}

void Comparison::descend(int directory,
                         const std::string& name,
                         const Entry* before,
                         const std::string& path,
                         std::size_t depth) {
  if (depth > kMaxSnapshotDepth) {
    report_.truncated = true;
    return;
  }
  struct stat status {};
  const UniqueFd below = open_directory(directory, name, 0500, status);
  if (!below) {
    return;  // Gone or swapped meanwhile.
  }
  walk(below.get(), before, path, depth);
  if ((status.st_mode & 0500U) != 0500) {
    (void)::fchmod(below.get(), status.st_mode & 07777U);
  }
}

void Comparison::walk(int directory,
                      const Entry* entry,
                      const std::string& path,
                      std::size_t depth) {
  std::vector<std::string> names;
  for_each_name(directory, [&](std::string_view name) {
    names.emplace_back(name);
    return ++visited_ <= kMaxVisited;
  });
  std::vector<bool> there(entry == nullptr ? 0 : entry->value);
  for (const std::string& name : names) {
    if (visited_ > kMaxVisited || deadline_.passed() || report_.files.size() >= kMaxListedFiles) {
      report_.truncated = true;
      return;
    }
    const Entry* before = entry == nullptr ? nullptr : manifest_.find(*entry, name);
    if (before != nullptr) {
      there[static_cast<std::size_t>(before - manifest_.entries.data()) - entry->first] = true;
      before = before->mode == 0 ? nullptr : before;
    }
    take(directory, name, before, path.empty() ? name : path + "/" + name, depth);
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    const Entry& each = manifest_.entries[entry->first + i];
    if (!there[i] && each.mode != 0) {
      const std::string name = manifest_.name_of(each);
      add_deleted(each, path.empty() ? name : path + "/" + name);
    }
  }
}

void Comparison::take(int directory,
                      const std::string& name,
                      const Entry* before,
                      const std::string& path,
                      std::size_t depth) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (before != nullptr) {
      add_deleted(*before, path);
    }
    return;
  }
  if (before != nullptr && ((before->mode ^ status.st_mode) & S_IFMT) == 0) {
    take_same_type(directory, name, status, *before, path, depth);
    return;
  }
  if (before != nullptr) {
    add_deleted(*before, path);
  }
  add({.path = path,
       .kind = FileDifference::Kind::kAdded,
       .type = type_of(status.st_mode),
       .size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0,
       .mode = permissions(status.st_mode),
       .changed_ns = change_time(status)});
  if (S_ISDIR(status.st_mode)) {
    descend(directory, name, nullptr, path, depth + 1);
  }
}

void Comparison::take_same_type(int directory,
                                const std::string& name,
                                const struct stat& status,
                                const Entry& before,
                                const std::string& path,
                                std::size_t depth) {
  FileDifference difference = was(before, path);
  difference.kind = FileDifference::Kind::kModified;
  difference.mode = permissions(status.st_mode);
  difference.changed_ns = change_time(status);
  bool same = difference.mode == difference.mode_before;
  if (S_ISREG(status.st_mode)) {
    // Opening one whose mode keeps us out changes its times.
    const UniqueFd file = open_anyway(directory, name, O_RDONLY);
    struct stat opened {};
    if (!file || ::fstat(file.get(), &opened) != 0 || !S_ISREG(opened.st_mode)) {
      opened = status;
      same = false;
    } else {
      same =
          same && contents_.is_in(before.value, file.get(), opened, open_for_writing(file.get()));
    }
    difference.size = static_cast<std::uint64_t>(opened.st_size);
    difference.changed_ns = change_time(opened);
  } else if (S_ISLNK(status.st_mode)) {
    same = link_at(directory, name) == manifest_.target_of(before);
  }
  if (!same) {
    add(std::move(difference));
  }
  if (S_ISDIR(status.st_mode)) {
    descend(directory, name, &before, path, depth + 1);
  }
}

FileDifference Comparison::was(const Entry& entry, const std::string& path) const {
  return {.path = path,
          .kind = FileDifference::Kind::kDeleted,
          .type = type_of(entry.mode),
          .size_before = S_ISREG(entry.mode) ? contents_.identity(entry.value).size : 0,
          .mode_before = permissions(entry.mode)};
}

void Comparison::add_deleted(const Entry& entry, const std::string& path) {
  if (!add(was(entry, path)) || !S_ISDIR(entry.mode)) {
    return;
  }
  for (std::uint32_t i = 0; i < entry.value; ++i) {
    const Entry& each = manifest_.entries[entry.first + i];
    if (each.mode != 0) {
      add_deleted(each, path + "/" + manifest_.name_of(each));
    }
  }
}

bool Comparison::add(FileDifference difference) {
  bytes_ += difference.path.size() + kBytesBeside;
  if (report_.files.size() >= kMaxListedFiles || bytes_ > kMaxBytes) {
    report_.truncated = true;
    return false;
  }
  report_.files.push_back(std::move(difference));
  return true;
}

}  // namespace glovebox::warden
