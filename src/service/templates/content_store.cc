// SPDX-License-Identifier: Apache-2.0
#include "service/templates/content_store.h"

#include <fcntl.h>
#include <fts.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/sys/draft_directory.h"
#include "base/sys/tree.h"
#include "base/sys/write_all.h"

namespace glovebox {
namespace {

Result<void> flush(const std::string& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // All of it at once: a root has tens of thousands of files.
  if (!fd || ::syncfs(fd.get()) != 0) {
    return Error::from_errno("flush a template");
  }
  return {};
}

}  // namespace

UniqueFd hold_content(const std::string& path) { return lock_directory(path, LOCK_SH | LOCK_NB); }

ContentDraft::~ContentDraft() {
  if (lock_) {
    (void)sys::remove_tree(path_);
  }
}

Result<ContentStore> ContentStore::open(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create " + directory);
  }
  ContentStore store(directory);
  if (::mkdir(store.memory().c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create " + store.memory());
  }
  return store;
}

std::optional<Content> ContentStore::find(const std::string& key) const {
  UniqueFd held = hold_content(path_of(key));
  if (!held) {
    return std::nullopt;
  }
  return Content(key, path_of(key), std::move(held));
}

Result<ContentDraft> ContentStore::begin() const {
  DraftDirectory made = GB_TRY(make_draft_directory(directory_));
  return ContentDraft(std::move(made.path), std::move(made.lock));
}

Result<Content> ContentStore::commit(ContentDraft draft, const std::string& key) const {
  GB_TRY(flush(draft.path_));
  const std::string path = path_of(key);
  if (::rename(draft.path_.c_str(), path.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) {
      return Error::from_errno("store a template");
    }
    if (auto other = find(key)) {
      return *std::move(other);
    }
    return Error(ErrorCode::kUnavailable, "the template was removed in the meantime", "try again");
  }
  // From here on the draft's lock is the piece's. Downgrading it releases it for a moment.
  UniqueFd held = std::move(draft.lock_);
  const UniqueFd above(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above || ::fsync(above.get()) != 0) {
    return Error::from_errno("flush a template");
  }
  if (::flock(held.get(), LOCK_SH) != 0 || !is_named(held.get(), path)) {
    return Error(ErrorCode::kUnavailable, "the template was removed in the meantime", "try again");
  }
  return Content(key, path, std::move(held));
}

std::vector<std::string> ContentStore::unused(const std::set<std::string>& used) const {
  std::vector<std::string> keys;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && !used.contains(name)) {
      keys.push_back(name);
    }
  }
  return keys;
}

void ContentStore::retire(const std::set<std::string>& used) const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename().string();
    if (used.contains(name) || name.starts_with(kUnnamed) || path_of(name) == memory()) {
      continue;
    }
    if (const UniqueFd held = lock_directory(path_of(name), LOCK_EX | LOCK_NB)) {
      (void)take_name(directory_, path_of(name));
    }
  }
}

void ContentStore::sweep_drafts() const { glovebox::sweep_drafts(directory_); }

Result<void> write_content(int fd, std::string_view bytes) {
  return sys::write_all(fd, bytes) ? Result<void>() : Error::from_errno("write a template");
}

std::uint64_t disk_use_of(const std::string& directory) {
  std::string root = directory;
  char* const roots[] = {root.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> tree(
      ::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, nullptr), ::fts_close);
  std::uint64_t bytes = 0;
  while (const FTSENT* const entry = tree ? ::fts_read(tree.get()) : nullptr) {
    if (entry->fts_info == FTS_F || entry->fts_info == FTS_D) {
      bytes += static_cast<std::uint64_t>(entry->fts_statp->st_blocks) * 512;
    }
  }
  return bytes;
}

}  // namespace glovebox
