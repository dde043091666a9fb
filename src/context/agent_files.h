// SPDX-License-Identifier: Apache-2.0
// Where the agents are: outside, and in a sandbox.
#pragma once

#include <string>

#include "base/result.h"
#include "spec/mount.h"

namespace glovebox {

// Where a sandbox with a root of its own shows them.
inline constexpr const char* kAgentsTarget = "/opt/glovebox/agents";

// The directory of the agents: beside our own program's directory, in ../libexec/glovebox, or where
// GLOVEBOX_AGENTS says. Found once per process.
Result<std::string> agents_directory();

// Add it to the mounts of a sandbox that will have contexts.
Result<Mount> agents_mount();

}  // namespace glovebox
