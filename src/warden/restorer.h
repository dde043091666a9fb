// SPDX-License-Identifier: Apache-2.0
// One restore of a snapshot.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "warden/contents.h"
#include "warden/manifest.h"
#include "warden/snapshots.h"

namespace glovebox::warden {

class Restorer {
 public:
  Restorer(Contents& contents,
           const Manifest& manifest,
           int workspace,
           std::vector<Rewritten>& rewritten);

  // First measures, then removes, then fills, so that it needs as little room as possible.
  Result<void> run();

 private:
  using Entry = Manifest::Entry;
  // Room on the disk that the restore frees and takes.
  struct Room {
    std::uint64_t bytes_freed = 0;
    std::uint64_t bytes_taken = 0;
    std::uint64_t inodes_freed = 0;
    std::uint64_t inodes_taken = 0;
  };

  void measure(int directory, const Entry& entry, std::size_t depth, Room& room);
  void measure_missing(const Entry& entry, Room& room) const;
  void measure_removed(int directory,
                       const std::string& name,
                       const struct stat& status,
                       std::size_t depth,
                       Room& room) const;
  [[nodiscard]] Result<void> check(const Room& room) const;

  // Whether what lies there can become `entry` without being removed.
  [[nodiscard]] bool stays(const Entry* entry, const struct stat& status) const;
  Result<void> prune(int directory, const Entry& entry);
  Result<void> remove(int directory, const std::string& name);
  Result<void> remove_tree(int parent, const std::string& name);
  Result<void> set_aside(int parent, const std::string& name, std::vector<std::string>& aside);

  Result<void> fill(int directory, const Entry& entry, const std::string& path);
  Result<void> fill_one(int directory, const Entry& entry, const std::string& path);
  Result<void> fill_file(int directory, const Entry& entry, const std::string& path);
  Result<void> fill_link(int directory, const Entry& entry);
  Result<UniqueFd> write_file(int directory, const Entry& entry, const UniqueFd& present);

  Contents& contents_;
  const Manifest& manifest_;
  int workspace_;
  std::vector<Rewritten>& rewritten_;
  Deadline deadline_;
  std::uint32_t next_aside_ = 0;
};

}  // namespace glovebox::warden
