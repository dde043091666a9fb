// SPDX-License-Identifier: Apache-2.0
// ContentStore: what templates are made of, each piece kept once under the SHA-256 of what it was
// made from.
//
// A piece is kept in "<store>/<key>": a directory "root", or "files", or an archive "home.tar". It
// is filled in a directory of its own and gets its name by one rename after all of it is on the
// disk, so a name always means a whole piece. Each user of a piece holds a shared lock on its
// directory (flock(2)), which the kernel drops with the process; sweep() removes what nobody holds
// and no template names.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// The lock that keeps a piece where it is; nothing if there is no directory of that name.
UniqueFd hold_content(const std::string& path);

// A piece in use: it is not removed while this lives.
class Content {
 public:
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // The descriptor that holds it; so does every copy of it, in whatever process.
  [[nodiscard]] int lock_fd() const { return lock_.get(); }

 private:
  friend class ContentStore;
  Content(std::string key, std::string path, UniqueFd lock)
      : key_(std::move(key)), path_(std::move(path)), lock_(std::move(lock)) {}

  std::string key_;
  std::string path_;
  UniqueFd lock_;
};

// A piece that is being made. Removed again unless it is committed.
class ContentDraft {
 public:
  ContentDraft(ContentDraft&&) noexcept = default;
  ContentDraft& operator=(ContentDraft&&) = delete;
  ContentDraft(const ContentDraft&) = delete;
  ContentDraft& operator=(const ContentDraft&) = delete;
  ~ContentDraft();

  // The directory to fill.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend class ContentStore;
  ContentDraft(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd lock_;
};

// Safe to use from any thread, and from several processes.
class ContentStore {
 public:
  // `directory` is ours alone. It is made if it is not there.
  static Result<ContentStore> open(const std::string& directory);
  // To look at one that somebody else makes and fills.
  static ContentStore at(const std::string& directory) { return ContentStore(directory); }

  [[nodiscard]] std::optional<Content> find(const std::string& key) const;
  // Where a piece of that key is, whether it is there or not.
  [[nodiscard]] std::string path_of(const std::string& key) const { return directory_ + "/" + key; }

  [[nodiscard]] Result<ContentDraft> begin() const;
  // Makes the draft the piece of `key`. If somebody else was faster, returns theirs.
  [[nodiscard]] Result<Content> commit(ContentDraft draft, const std::string& key) const;

  // A directory for what may be forgotten at any time.
  [[nodiscard]] std::string memory() const { return directory_ + "/.memory"; }

  // The keys of pieces that are not in `used`.
  [[nodiscard]] std::vector<std::string> unused(const std::set<std::string>& used) const;

  // Takes the name from what is not in `used` and nobody holds, which makes it a draft: nobody
  // takes it for a piece any more, however long its removal lasts.
  void retire(const std::set<std::string>& used) const;

  // Removes the drafts that nobody fills: what was retired, and what killed builders left, which no
  // record mentions.
  void sweep_drafts() const;

  // Both.
  void sweep(const std::set<std::string>& used) const {
    retire(used);
    sweep_drafts();
  }

 private:
  explicit ContentStore(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;
};

// Writes all of it to a file of a draft.
Result<void> write_content(int fd, std::string_view bytes);

// What a directory takes of the disk, in bytes; links are not followed.
std::uint64_t disk_use_of(const std::string& directory);

}  // namespace glovebox
