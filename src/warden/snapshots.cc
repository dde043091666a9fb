// SPDX-License-Identifier: Apache-2.0
#include "warden/snapshots.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "spec/warden_protocol.h"
#include "warden/comparison.h"
#include "warden/restorer.h"

namespace glovebox::warden {
namespace {

// Manifests are in our own memory, which is the sandbox's.
constexpr std::size_t kMaxText = 8U << 20;
constexpr std::size_t kMaxEntriesOfAll = 8 * kMaxSnapshotFiles;
constexpr std::size_t kMaxTextOfAll = 4 * kMaxText;

// The outside waits longer (Sandbox::snapshot).
constexpr std::int64_t kMaxTakeNs = 20'000'000'000;

Error within(Error error, const std::string& name) { return std::move(error).within(name); }

}  // namespace

Result<void> Snapshots::take(std::uint32_t id) {
  if (taken_.contains(id)) {
    return Error(ErrorCode::kInvalid, "snapshot " + std::to_string(id) + " already exists");
  }
  if (taken_.size() >= kMaxSnapshots) {
    return Error(ErrorCode::kInvalid, "too many snapshots; drop one first");
  }
  GB_TRY(contents_.prepare(place_ ? place_.get() : workspace_.get()));
  const Deadline deadline(kMaxTakeNs);
  struct stat status {};
  const UniqueFd root = open_directory(workspace_.get(), ".", 0500, status);
  if (!root) {
    return Error::from_errno("open the workspace");
  }
  Manifest manifest;
  manifest.entries.push_back({.mode = status.st_mode, .modified_ns = nanoseconds(status.st_mtim)});
  auto captured = capture(root.get(), 0, 0, manifest, deadline);
  if ((status.st_mode & 0500U) != 0500) {
    (void)::fchmod(root.get(), status.st_mode & 07777U);
  }
  if (!captured) {
    release(manifest);
    return captured;
  }
  taken_.emplace(id, std::move(manifest));
  return {};
}

Result<void> Snapshots::check_room(const Manifest& manifest) const {
  std::size_t entries = manifest.entries.size();
  std::size_t text = manifest.text.size();
  if (entries > kMaxSnapshotFiles || text > kMaxText) {
    return Error(ErrorCode::kInvalid, "too many files for a snapshot");
  }
  for (const auto& [id, other] : taken_) {
    entries += other.entries.size();
    text += other.text.size();
  }
  if (entries > kMaxEntriesOfAll || text > kMaxTextOfAll) {
    return Error(ErrorCode::kInvalid, "the snapshots contain too many files; drop one first");
  }
  return {};
}

Result<void> Snapshots::capture(int directory,
                                std::size_t index,
                                std::size_t depth,
                                Manifest& manifest,
                                const Deadline& deadline) {
  if (depth > kMaxSnapshotDepth) {
    return Error(ErrorCode::kInvalid, "directories are nested too deeply for a snapshot");
  }
  std::vector<std::string> names;
  for_each_name(directory, [&](std::string_view name) {
    names.emplace_back(name);
    return names.size() <= kMaxSnapshotFiles;
  });
  std::sort(names.begin(), names.end());
  // The entries of one directory lie together, so all of them before what is below.
  const std::size_t first = manifest.entries.size();
  for (const std::string& name : names) {
    manifest.entries.push_back({.name = static_cast<std::uint32_t>(manifest.text.size()),
                                .length = static_cast<std::uint32_t>(name.size())});
    manifest.text += name;
  }
  manifest.entries[index].first = static_cast<std::uint32_t>(first);
  manifest.entries[index].value = static_cast<std::uint32_t>(names.size());
  GB_TRY(check_room(manifest));
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto done = capture_one(directory, names[i], first + i, manifest, deadline);
    if (!done) {
      return within(std::move(done).error(), names[i]);
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!S_ISDIR(manifest.entries[first + i].mode)) {
      continue;
    }
    struct stat status {};
    const UniqueFd below = open_directory(directory, names[i], 0500, status);
    if (!below) {
      return Error::from_errno("open " + names[i]);
    }
    auto done = capture(below.get(), first + i, depth + 1, manifest, deadline);
    if ((status.st_mode & 0500U) != 0500) {
      (void)::fchmod(below.get(), status.st_mode & 07777U);
    }
    if (!done) {
      return done;
    }
  }
  return {};
}

// Leaves an entry whose mode is zero when there is nothing of that name any more.
Result<void> Snapshots::capture_one(int directory,
                                    const std::string& name,
                                    std::size_t index,
                                    Manifest& manifest,
                                    const Deadline& deadline) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Result<void>() : Result<void>(Error::from_errno("stat"));
  }
  Manifest::Entry& entry = manifest.entries[index];
  entry.modified_ns = nanoseconds(status.st_mtim);
  if (S_ISLNK(status.st_mode)) {
    std::array<char, 4096> target;
    const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    if (size < 0) {
      return Error::from_errno("read the link");
    }
    entry.first = static_cast<std::uint32_t>(manifest.text.size());
    entry.value = static_cast<std::uint32_t>(size);
    manifest.text.append(target.data(), static_cast<std::size_t>(size));
    entry.mode = status.st_mode;
    return check_room(manifest);
  }
  if (S_ISREG(status.st_mode)) {
    const UniqueFd file = open_anyway(directory, name, O_RDONLY);
    if (!file || ::fstat(file.get(), &status) != 0) {
      return Error::from_errno("open");
    }
    if (!S_ISREG(status.st_mode)) {
      return Error(ErrorCode::kUnavailable, "it changed while it was being read");
    }
    // The mode comes last: an entry without one owns no content.
    entry.value = GB_TRY(contents_.keep(file.get(), status, deadline));
  }
  entry.mode = status.st_mode;
  return {};
}

Result<void> Snapshots::restore(std::uint32_t id, std::vector<Rewritten>& rewritten) {
  const auto found = taken_.find(id);
  if (found == taken_.end()) {
    return Error(ErrorCode::kNotFound, "no snapshot " + std::to_string(id));
  }
  return Restorer(contents_, found->second, workspace_.get(), rewritten).run();
}

Result<DifferencesReport> Snapshots::compare(std::uint32_t id) {
  const auto found = taken_.find(id);
  if (found == taken_.end()) {
    return Error(ErrorCode::kNotFound, "no snapshot " + std::to_string(id));
  }
  return Comparison(contents_, found->second, workspace_.get()).run();
}

std::optional<std::string> Snapshots::read(std::uint32_t id,
                                           std::string_view path,
                                           std::size_t max) const {
  const auto found = taken_.find(id);
  if (found == taken_.end()) {
    return std::nullopt;
  }
  const Manifest& manifest = found->second;
  const Manifest::Entry* entry = &manifest.entries.front();
  while (entry != nullptr && !path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    entry = S_ISDIR(entry->mode) ? manifest.find(*entry, path.substr(0, slash)) : nullptr;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  if (entry == nullptr || !(S_ISREG(entry->mode) || S_ISLNK(entry->mode))) {
    return std::nullopt;
  }
  return S_ISREG(entry->mode) ? contents_.read(entry->value, max) : manifest.target_of(*entry);
}

Result<void> Snapshots::drop(std::uint32_t id) {
  const auto found = taken_.find(id);
  if (found == taken_.end()) {
    return Error(ErrorCode::kNotFound, "no snapshot " + std::to_string(id));
  }
  release(found->second);
  taken_.erase(found);
  return {};
}

void Snapshots::release(const Manifest& manifest) {
  for (const Manifest::Entry& entry : manifest.entries) {
    if (S_ISREG(entry.mode)) {
      contents_.release(entry.value);
    }
  }
}

}  // namespace glovebox::warden
