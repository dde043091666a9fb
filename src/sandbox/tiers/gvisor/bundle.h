// SPDX-License-Identifier: Apache-2.0
// The OCI bundle of a gVisor sandbox: what its guests see of the host, as runsc reads it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/launch.h"
#include "sandbox/spec.h"

namespace glovebox {

// A piece of the host that guests see, read-only. `target` is an absolute path inside; so is
// `source`, outside, unless it is in a root whose path is relative.
struct BundleBind {
  std::string source;
  std::string target;
};

// The directory that becomes the root of guests, empty.
struct BundleRoot {
  UniqueFd directory;
  std::string path;  // By which the process that mounts things finds it.
};

struct Bundle {
  std::string config;             // The text of config.json.
  std::vector<BundleBind> binds;  // Its mounts that are pieces of the host, in its order.
};

// Makes in `root` what guests see that is not mounted. Nothing that a guest wrote is looked at:
// sources are the host's, and the root is made anew.
Result<Bundle> make_bundle(const BundleRoot& root,
                           const SandboxSpec& spec,
                           const InnerPrograms& programs);

}  // namespace glovebox
