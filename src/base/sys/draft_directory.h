// SPDX-License-Identifier: Apache-2.0
// Directories that are filled without a name and get it by one rename, so that a name always stands
// for a whole one: what the stores of layers and of templates are made of.
//
// Whoever fills or uses one holds a lock on it (flock(2)), which the kernel drops with the process;
// what nobody holds can be removed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// What begins so has no name yet, or no longer.
inline constexpr std::string_view kUnnamed = ".build-";

// Whether the directory that was opened still has that name.
bool is_named(int fd, const std::string& path);

// A lock on the directory that has this name, `how` as flock(2) takes it; nothing where there is
// none, or where flock(2) refuses.
UniqueFd lock_directory(const std::string& path, int how);

struct DraftDirectory {
  std::string path;
  UniqueFd lock;  // Exclusive.
};

// A new one in `directory`, into which other users may look. kUnavailable where somebody removes
// each before it is locked.
Result<DraftDirectory> make_draft_directory(const std::string& directory);

// Removes from `directory` all without a name that nobody holds.
void sweep_drafts(const std::string& directory);

// Takes its name from a directory that the caller holds a lock on, however long its removal lasts
// then. Returns what it is called now; empty where it could not be renamed.
std::string take_name(const std::string& directory, const std::string& path);

}  // namespace glovebox
