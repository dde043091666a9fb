// SPDX-License-Identifier: Apache-2.0
// Directories that are filled without a name and get one by a single rename, so that a name always
// means a whole directory: what the stores of layers and of templates are made of.
//
// A process that fills or uses one holds a lock on it (flock(2)), which the kernel drops with the
// process; a directory that nobody holds can be removed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// A directory whose entry begins so has no name yet, or no longer.
inline constexpr std::string_view kUnnamed = ".build-";

// Whether the directory that was opened still has that name.
bool is_named(int fd, const std::string& path);

// A lock on the directory that has this name, `how` as flock(2) takes it; nothing if there is no
// such directory, or if flock(2) refuses.
UniqueFd lock_directory(const std::string& path, int how);

struct DraftDirectory {
  std::string path;
  UniqueFd lock;  // Exclusive.
};

// Makes a draft in `directory`; other users may look into the draft. kUnavailable if somebody
// removes each one before it is locked.
Result<DraftDirectory> make_draft_directory(const std::string& directory);

// Removes from `directory` each directory without a name that nobody holds.
void sweep_drafts(const std::string& directory);

// Takes the name away from a directory that the caller holds a lock on, so that removing it may
// take long. Returns what it is called now; empty if it could not be renamed.
std::string take_name(const std::string& directory, const std::string& path);

}  // namespace glovebox
