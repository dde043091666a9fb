// SPDX-License-Identifier: Apache-2.0
// The sandbox's files, seen by the warden.
//
// Guests can rename, link and swap anything at any moment, so every path is walked as
// base/sys/beneath.h does it, and only regular files are ever read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"
#include "warden/snapshots.h"

namespace glovebox::warden {

class Workspace {
 public:
  // The current directory is the workspace. `store` is what Snapshots calls its place. `others` are
  // further places that guests write to, each a file system of its own: what is used of them
  // counts, too.
  static Result<Workspace> create(UniqueFd store, std::vector<UniqueFd> others);

  // Opens a file or directory below the workspace (sys::open_beneath). `path` may be absolute if it
  // names something in the workspace, or below /tmp, which the guest may write as well.
  [[nodiscard]] Result<UniqueFd> open(std::string_view path,
                                      int flags,
                                      std::uint32_t mode = 0) const;

  // Makes the directories in front of the last component of `path`.
  Result<void> make_parents(std::string_view path) const;

  // Creates or replaces one file.
  Result<void> write(const WriteRequest& request) const;

  // Remembers the files as they are now; changes() compares with that.
  void mark();
  [[nodiscard]] FilesReport changes() const;

  // Serves kSnapshot, kRestore and kDropSnapshot. A file that a restore gives back as it was at
  // mark() is not a change.
  Result<void> serve_snapshot(Request type, std::string_view payload);

  // If the snapshot is missing or the request is malformed, the report lists nothing.
  DifferencesReport compare(std::string_view payload);
  [[nodiscard]] ContentReport read_version(std::string_view payload) const;

  struct DiskUse {
    std::uint64_t bytes = 0;  // By the guest.
    std::uint64_t inodes = 0;
    bool bytes_full = false;
    bool inodes_full = false;
  };
  [[nodiscard]] DiskUse disk_use() const;

  // One regular file, as a walk sees it.
  struct Seen {
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t changed_ns = 0;  // st_ctim: unlike the modification time, no guest can set it.
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  using Listing = std::map<std::string, Seen, std::less<>>;

  // All regular files below `path`, bounded in number, depth and time; `truncated` says when the
  // bound was reached.
  [[nodiscard]] Listing walk(std::string_view path, bool& truncated) const;

 private:
  Workspace(UniqueFd root, UniqueFd again, UniqueFd store, std::vector<UniqueFd> others)
      : root_(std::move(root)),
        others_(std::move(others)),
        snapshots_(std::move(again), std::move(store)) {}

  [[nodiscard]] std::optional<std::string> read_now(const std::string& path, std::size_t max) const;
  void keep_marks(const std::vector<Rewritten>& files);

  UniqueFd root_;
  std::vector<UniqueFd> others_;
  Snapshots snapshots_;
  Listing marked_;
  DiskUse used_by_us_;  // What the set-up itself made.
};

}  // namespace glovebox::warden
