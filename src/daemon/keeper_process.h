// SPDX-License-Identifier: Apache-2.0
// The keeper as a process of its own, so that sandboxes outlive the daemon.
#pragma once

#include <string>

#include "base/result.h"
#include "service/keeper/keeper.h"

namespace glovebox {

// Where a data directory's keeper listens.
std::string keeper_socket(const std::string& directory);

// Listens there, for this user alone.
Result<UniqueFd> listen_as_keeper(const std::string& directory);

// Starts `program keeper --data DIRECTORY` in a session of its own, unless one serves that
// directory already, and waits until it answers. With a `user` it keeps sandboxes for the daemon of
// that user. With a `lifeline`, the reading end of a pipe, a new one ends as soon as the other end
// is closed. True when it started one; kUnavailable when the one that is there does not respond.
Result<bool> ensure_keeper(const std::string& program,
                           const std::string& directory,
                           const std::string& user,
                           int lifeline = -1);

// For one that somebody else starts, who may still be about to: kUnavailable when none serves.
Result<void> find_keeper(const std::string& directory);

// Ends the keeper of a directory, and all its sandboxes; one that does not respond, or does not end
// within some seconds, is killed. Nothing when there is none.
Result<void> stop_keeper(const std::string& directory);

// The descriptor that a keeper with a lifeline finds it at.
constexpr int kKeeperLifeline = 3;

// Is the keeper: returns when it was told to stop, by stop_keeper(), by SIGTERM or by the end of
// its `lifeline`, if that is not negative. With a `user` it shares the directory with the daemon of
// that user (data_directory.h), which takes root. kConflict when another one serves the directory.
Result<void> run_keeper(const std::string& directory,
                        const std::string& user,
                        int lifeline,
                        keeper::KeeperOptions options);

}  // namespace glovebox
