// SPDX-License-Identifier: Apache-2.0
// Places of a workspace that a policy closes or hides, as mounts. As in enter.cc: system calls
// only.
#pragma once

#include <cstdint>

#include "sandbox/child/plan.h"

namespace glovebox::child {

// Mounts the plan's workspace over itself and its pins into that. `inner` becomes a descriptor of
// the workspace below, where nothing is pinned; without pins it stays as it is. `detail` counts the
// pins. Returns zero or a negative errno. Requires: the new root is the current directory.
long pin_places(const Plan& plan, long& inner, std::uint32_t& detail) noexcept;

}  // namespace glovebox::child
