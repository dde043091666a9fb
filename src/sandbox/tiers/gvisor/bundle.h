// SPDX-License-Identifier: Apache-2.0
// The OCI bundle of a gVisor sandbox: what its guests see of the host, as runsc reads it.
#pragma once

#include <string>

#include "base/result.h"
#include "sandbox/launch.h"
#include "sandbox/spec.h"

namespace glovebox {

// Writes `directory`/config.json and `directory`/root, which must not be there yet. Nothing that a
// guest wrote is looked at: sources are the host's, and the root is made anew.
Result<void> write_bundle(const std::string& directory,
                          const SandboxSpec& spec,
                          const InnerPrograms& programs);

}  // namespace glovebox
