// SPDX-License-Identifier: Apache-2.0
// What the warden of a kernel of its own is told when it starts (warden/moving_in.h).
#pragma once

#include <string>

#include "sandbox/policy/policy.h"
#include "spec/limits.h"

namespace glovebox {

// The first frame, the same for all sandboxes with that home in which `filter` is the tier's own.
std::string moving_in_frame(const std::string& home, policy::Filter filter);

// The next one, after which the warden is ready.
std::string machine_frame(const Limits& limits);

}  // namespace glovebox
