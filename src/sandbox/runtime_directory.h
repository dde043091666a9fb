// SPDX-License-Identifier: Apache-2.0
// The directory in which the programs of one user find each other's sandboxes.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// As root $GLOVEBOX_RUNTIME_DIR, else /run/glovebox. As another user, or as root without ids to
// give (sandbox/guest_ids.h), $XDG_RUNTIME_DIR/glovebox, else a directory of that user's in /tmp.
std::string runtime_directory();

// Whether other runtime directories on this host may give out the same slot numbers, and with them
// names of cgroups and, as root, user ids: true for all but /run/glovebox.
bool shares_slot_numbers();

// Opens it, made on demand and ours alone: another user who could write there could have us remove
// what is not ours, or answer in our name. Fails with kUnavailable if it is not ours alone.
Result<UniqueFd> open_runtime_directory();

// Likewise the one that all programs of root's on this host share, whatever their own is.
Result<UniqueFd> open_shared_runtime_directory();

// Likewise one at that path, which must be absolute.
Result<UniqueFd> open_private_directory(const std::string& path);

// Files of `glovebox pool` (service/run_pool/sandbox_pool.h) in that directory: its socket, and the
// file that it keeps locked while it lives (flock(2)). Slots have no dot in front.
inline constexpr const char* kPoolSocket = ".pool";
inline constexpr const char* kPoolLock = ".pool.lock";

}  // namespace glovebox
