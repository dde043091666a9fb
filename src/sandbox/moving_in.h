// SPDX-License-Identifier: Apache-2.0
// What the warden of a kernel of its own is told when it starts (warden/moving_in.h).
#pragma once

#include <string>

#include "sandbox/policy/policy.h"
#include "sandbox/spec.h"

namespace glovebox {

// The frame with the request: for `spec`, and with `filter` as the tier's own.
std::string moving_in_frame(const SandboxSpec& spec, policy::Filter filter);

}  // namespace glovebox
