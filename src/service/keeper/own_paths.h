// SPDX-License-Identifier: Apache-2.0
// OwnPaths: whether what the daemon names lies in the keeper's own data directory.
//
// The daemon talks to the network and can be taken over; the keeper mounts, copies and removes what
// the daemon names, as root. So it takes only what is in the data directory, which the daemon can
// change anyway. A mount that is not `closed` needs no check: it is made with the guest's own
// rights, and shows what any user of the machine can read.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::keeper {

struct CreateOrder;

// Safe to use from several threads.
class OwnPaths {
 public:
  static Result<OwnPaths> open(const std::string& directory);

  // kRefused unless the path leads to something below the directory, and through no link after it;
  // kNotFound where it leads to nothing.
  Result<void> check(const std::string& path) const;
  // The same for the directory that holds the file, which need not be there.
  Result<void> check_parent(const std::string& path) const;
  // All that the order wants mounted.
  Result<void> check(const CreateOrder& order) const;

 private:
  explicit OwnPaths(UniqueFd directory) : directory_(std::move(directory)) {}

  UniqueFd directory_;
};

}  // namespace glovebox::keeper
