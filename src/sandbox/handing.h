// SPDX-License-Identifier: Apache-2.0
// Handing: what a child makes in its sandbox during the sandbox's birth, and hands out to us
// (child/hand_out.h).
#pragma once

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

class Handing {
 public:
  // None: nothing is handed out.
  Handing() = default;

  static Result<Handing> open();

  explicit operator bool() const { return static_cast<bool>(ours_); }

  // For the child, which has a copy of it.
  [[nodiscard]] int inner() const { return theirs_.get(); }

  // Closes the child's end here; once the child exists.
  void close_inner() { theirs_.reset(); }

  // Waits for what the child hands out; nothing if the child failed before that: its report says
  // why.
  std::vector<UniqueFd> receive();

 private:
  UniqueFd ours_;
  UniqueFd theirs_;
};

// Sockets in the network namespace of a sandbox, for its proxy. child/way_out.h says what they get.
struct WayOut {
  UniqueFd listener{};
  UniqueFd names{};

  // Empty if the child has none to hand out.
  static WayOut from(Handing& handing);
};

}  // namespace glovebox
