// SPDX-License-Identifier: Apache-2.0
// Where a guest can write, and what it can read, as a Landlock domain of its own.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"
#include "warden/workspace.h"

namespace glovebox::warden {

// A rule set (landlock_create_ruleset(2)) with which a process can write only what the request
// says, and read only what it says and the system; devices and files of /proc as before. None if it
// can do both everywhere. Makes places that are missing. It restricts calls that make, change,
// move, remove or read files or list directories, but not those that change or show their mode,
// owner, times or extended attributes.
Result<UniqueFd> make_file_walls(const Workspace& workspace, const StartRequest& request);

}  // namespace glovebox::warden
