// SPDX-License-Identifier: Apache-2.0
// Who owns the files of the data directory.
//
// Without a user of its own, the daemon and the keeper are one user, and the directory is theirs
// alone (mode 0700). A daemon with a user of its own shares it with a keeper that is root:
//
//   the directory                  root, the daemon's group, mode 1770: each removes only its own
//   templates, volumes, workspaces root's; the daemon may look at names and sizes
//   snapshots                      mode 1770, too: images are root's, archives are the daemon's
//   images, keys, keeper.*         root's
//   all the rest                   the daemon's: database, keys, answers
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "daemon/daemon_user.h"

namespace glovebox {

enum class Sharing {
  kAlone,   // The directory is ours alone.
  kShared,  // The directory is root's, shared with a daemon like us.
};

// Makes the directory, for this user alone, if it is missing. kRefused if others have access to it,
// or if it was made for another user's daemon.
Result<Sharing> open_data_directory(const std::string& path);

// As root: makes the directory for a daemon of this user, or converts one that was root's alone.
// kConflict while root's own daemon uses it.
Result<void> share_data_directory(const std::string& path, const DaemonUser& user);

}  // namespace glovebox
