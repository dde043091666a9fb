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

// Starts `program keeper --data DIRECTORY` in a session of its own, unless a keeper serves that
// directory already, and waits until it answers. With a `user` it keeps sandboxes for the daemon of
// that user. With a `lifeline`, the reading end of a pipe, a new keeper ends as soon as the other
// end is closed. True if it started one; kUnavailable if the existing keeper does not respond.
Result<bool> ensure_keeper(const std::string& program,
                           const std::string& directory,
                           const std::string& user,
                           int lifeline = -1);

// For a keeper that somebody else starts, perhaps only later: kUnavailable if none serves.
Result<void> find_keeper(const std::string& directory);

// Ends the keeper of a directory, and all its sandboxes. A keeper that does not respond, or does
// not end within some seconds, is killed. Does nothing if there is none.
Result<void> stop_keeper(const std::string& directory);

// The descriptor at which a keeper with a lifeline finds the lifeline.
constexpr int kKeeperLifeline = 3;

// Runs as the keeper: returns when it is told to stop, by stop_keeper(), by SIGTERM or by the end
// of its `lifeline`, if that is not negative. With a `user` it shares the directory with the daemon
// of that user (data_directory.h), which takes root. kConflict if another keeper serves it.
Result<void> run_keeper(const std::string& directory,
                        const std::string& user,
                        int lifeline,
                        keeper::KeeperOptions options);

}  // namespace glovebox
