// SPDX-License-Identifier: Apache-2.0
// OwnPaths: the files of the data directory that belong to the keeper.
//
// The daemon talks to the network and can be taken over; the keeper mounts, copies and removes what
// the daemon names, perhaps as root. So it takes only what is its own: below one of its directories
// (kKeeperDirectories), reached through no link, and owned by its user. Nobody else can write to or
// rename any of that, so a path stays what it was when it was resolved.
//
// A mount that is not `closed` is not resolved: it is made with the guest's own rights, and shows
// what any user of the machine can read.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::keeper {

struct CreateOrder;

// In the data directory. In the last one, a daemon with a user of its own may make files as well,
// but it cannot rename or remove the keeper's.
inline constexpr std::array<std::string_view, 4> kKeeperDirectories = {"templates", "volumes",
                                                                       "workspaces", "snapshots"};

// Safe to use from several threads.
class OwnPaths {
 public:
  // Makes the directories that are missing. kRefused if one belongs to somebody else, or others can
  // replace what is in it.
  static Result<OwnPaths> open(const std::string& directory);

  // The path by which the keeper reaches what the daemon calls `path`, which may name the data
  // directory in another way. kRefused unless it is the keeper's own; kNotFound if nothing is
  // there.
  [[nodiscard]] Result<std::string> resolve(const std::string& path) const;
  // The same for a file directly in one of the directories, which need not be there.
  [[nodiscard]] Result<std::string> resolve_new(const std::string& path) const;
  // The order, with its paths in the data directory resolved.
  [[nodiscard]] Result<CreateOrder> resolve(CreateOrder order) const;

  [[nodiscard]] const std::string& directory() const { return path_; }

 private:
  OwnPaths(std::string path, UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  [[nodiscard]] Result<std::string> below(const std::string& path) const;

  std::string path_;  // Without links.
  UniqueFd directory_;
};

}  // namespace glovebox::keeper
