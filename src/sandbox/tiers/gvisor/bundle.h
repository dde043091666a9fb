// SPDX-License-Identifier: Apache-2.0
// The OCI bundle of a gVisor sandbox: what its guests see of the host, as runsc reads it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/launch.h"
#include "sandbox/spec.h"

namespace glovebox {

// A piece of the host that guests see, read-only. Both are absolute, `target` inside.
struct BundleBind {
  std::string source;
  std::string target;
};

// Writes `directory`/config.json and `directory`/root, which must not be there yet. Nothing that a
// guest wrote is looked at: sources are the host's, and the root is made anew. Returns the mounts
// of the configuration that are pieces of the host, in its order.
Result<std::vector<BundleBind>> write_bundle(const std::string& directory,
                                             const SandboxSpec& spec,
                                             const InnerPrograms& programs);

}  // namespace glovebox
