// SPDX-License-Identifier: Apache-2.0
// Contents of files, kept beside the files that guests may write.
//
// They are in one file without a name, on the workspace's own file system: nobody but us can reach
// it, it counts against the sandbox's disk like anything there, and it is gone when we are.
//
// A content is kept once for as long as the file that it came from keeps its inode, size,
// modification and change time. Two things let a file change all the same, and are looked for:
//   - somebody has it open for writing: a mapping of it may write without a new time;
//   - the clock of the file system is so coarse that a second write gets the time of the first.
// Such a file is compared byte by byte. What stays unseen: on tmpfs, a mapping that was made after
// one snapshot and gone before the next, and that wrote only to pages it had read before. A caller
// that must see that as well does not trust times.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "warden/directory.h"

namespace glovebox::warden {

class Contents {
 public:
  // What tells one version of a file from another.
  struct Identity {
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  static Identity identity_of(const struct stat& status);

  using Id = std::uint32_t;

  // Makes the store, in the file system of `directory`, unless it is there.
  Result<void> prepare(int directory);

  // Whether equal times of a file are taken for equal bytes, which is the default, or all bytes are
  // compared.
  void trust_times(bool trust) { trusts_times_ = trust; }

  // Keeps what `file` holds; the caller owns one reference to it then. `status` is the file's.
  Result<Id> keep(int file, const struct stat& status, const Deadline& deadline);

  // Gives one reference back. The space is free once the last is gone.
  void release(Id id);

  // Whether `file`, with that status, holds this content now. Reads it only when it must. `shared`
  // is what open_for_writing() said of it.
  [[nodiscard]] bool is_in(Id id, int file, const struct stat& status, bool shared);

  // The whole content; nothing if it is larger than `max`.
  [[nodiscard]] std::optional<std::string> read(Id id, std::size_t max) const;

  // Overwrites `file` with the content, and gives it the content's size.
  Result<void> write_to(Id id, int file, const Deadline& deadline) const;

  // The content was written to a file, which now has this status.
  void settle(Id id, const struct stat& status, bool shared);

  // The file that holds it, as far as we know.
  [[nodiscard]] const Identity& identity(Id id) const { return versions_[id].identity; }
  // Whether the file with that status holds it, as far as can be told without reading.
  [[nodiscard]] bool seems_in(Id id, const struct stat& status) const;
  // Bytes on the disk.
  [[nodiscard]] std::uint64_t stored(Id id) const;

 private:
  struct Extent {
    std::uint64_t offset = 0;  // In the file.
    std::uint64_t size = 0;
    std::uint64_t at = 0;  // In the store.
  };
  struct Bytes {
    std::uint64_t size = 0;
    std::vector<Extent> extents{};  // The rest is holes.
    std::uint32_t references = 0;
  };
  struct Version {
    Identity identity;
    std::uint32_t bytes = 0;
    std::uint32_t references = 0;
    bool settled = false;  // An equal identity means equal bytes.
  };

  Id add_version(const Version& version);
  void forget_inode(Id id);
  Result<void> copy_in(Bytes& bytes, int file, bool dense, const Deadline& deadline);
  Result<void> copy_extent(Bytes& bytes, int file, Extent extent, const Deadline& deadline);
  [[nodiscard]] bool holds(const Version& version, int file, const Identity& now) const;
  [[nodiscard]] bool equals(const Bytes& bytes, int file) const;
  [[nodiscard]] bool old_enough(const Identity& identity) const;
  void free_extents(const Bytes& bytes);

  UniqueFd store_;
  bool trusts_times_ = true;
  bool fine_times_ = false;  // A write after a look at the times always shows in them.
  std::uint64_t end_ = 0;    // Of what is used of the store. Space before it is not used twice.
  std::vector<Version> versions_;
  std::vector<Id> unused_versions_;
  std::vector<Bytes> bytes_;
  std::vector<std::uint32_t> unused_bytes_;
  std::map<std::uint64_t, Id> of_inode_;  // What each inode was last known to hold.
};

// Whether anybody has the file open, or mapped, for writing. `file` is open for reading only.
bool open_for_writing(int file);

}  // namespace glovebox::warden
