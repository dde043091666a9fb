// SPDX-License-Identifier: Apache-2.0
// The walls of a sandbox with a kernel of its own, from within: there none of our code runs before
// the warden, and the outside has only the socket.
//
// The outside has arranged the view of the files, read-only. The warden, still root of its kernel,
// makes all that guests may write from one file system in memory, so that one size bounds it, and
// hides what is its own. Then it gives up every capability and becomes a user whom no guest can
// signal or trace, and whose effective user is the guests': it reaches their files and processes,
// and needs no privilege to start one as them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "warden/warden.h"

namespace glovebox::warden {

// What a warden works with besides its socket.
struct Belongings {
  UniqueFd archiver{};
  Warden::Machine machine{};
  UniqueFd proc_self{};  // Its own directory of /proc, which guests may not see.
  UniqueFd layers{};     // Of a root that guests can write to, out of their sight; may be absent.
  std::vector<RootChanges::Overlay> overlays{};  // Of such a root.
  UniqueFd store{};  // Where snapshots are kept, out of the guests' sight; may be absent.
  std::vector<UniqueFd> places{};  // File systems beside the workspace's that guests write to.
  std::uint32_t landlock = 0;      // The ABI of the rules that it has set itself; 0: none.
};

// Waits for the MoveInRequest on `control`, reads no further, and does what it says. Afterwards the
// current directory is the workspace, and the process is under its filter. After a failure the
// process is unfit to continue.
Result<Belongings> move_in(int control);

// Tells the outside why there will be no sandbox.
void refuse(int control, const Error& error);

}  // namespace glovebox::warden
