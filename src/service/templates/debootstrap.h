// SPDX-License-Identifier: Apache-2.0
// Running debootstrap(8), a program of the host's, as the daemon itself.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "service/templates/build_monitor.h"
#include "service/templates/recipe.h"

namespace glovebox {

// Fills the empty directory `root`, which then has no devices, no set-uid bits, and nothing that a
// guest could not read. Needs the network and root's rights; runs in namespaces of its own, so that
// what it mounts and starts ends with it. At most half an hour.
Result<void> run_debootstrap(const Debootstrap& wanted,
                             const std::string& root,
                             BuildMonitor& monitor);

// What to do about a failure of debootstrap, by the last step that its output announces: a
// download, unpacking a package, or configuring one.
std::string debootstrap_hint(std::string_view output);

}  // namespace glovebox
