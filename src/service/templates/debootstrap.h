// SPDX-License-Identifier: Apache-2.0
// Roots for templates from debootstrap(8), a program of the host's that runs in sandboxes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "service/templates/build_monitor.h"
#include "service/templates/build_network.h"
#include "service/templates/content_store.h"
#include "service/templates/recipe.h"
#include "service/templates/root_source.h"

namespace glovebox {

// What comes from the mirror is fetched in one sandbox, whose way out follows the rules of
// `network`, and installed in another, whose root it becomes. Each has half an hour and, as far as
// the monitor has room, 8 GiB of disk. Requires that users can be told apart inside
// (SandboxSpec::needs_users). kUnsupported if debootstrap is not installed.
Result<RootContent> root_from_debootstrap(const Debootstrap& wanted,
                                          const BuildNetwork& network,
                                          const ContentStore& store,
                                          BuildMonitor& monitor);

// What to do about a failure of debootstrap, by the last step that its output announces: a
// download, unpacking a package, or configuring one.
std::string debootstrap_hint(std::string_view output);

}  // namespace glovebox
