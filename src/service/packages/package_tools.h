// SPDX-License-Identifier: Apache-2.0
// What a sandbox needs to install packages from directories, and where it finds them there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "service/packages/layer_store.h"
#include "service/packages/package_source.h"
#include "spec/mount.h"

namespace glovebox {

// Where a sandbox sees the source directories: "/opt/glovebox/packages/1", "…/2".
inline constexpr const char* kPackagesTarget = "/opt/glovebox/packages";

// Where it sees our `npm`, which knows them. To be found before the real one.
inline constexpr const char* kToolsTarget = "/opt/glovebox/package-tools";

// Read-only, as every mount.
std::vector<Mount> source_mounts(const std::vector<PackageSource>& sources);

// Their targets with colons between: GLOVEBOX_PACKAGE_SOURCES of our `npm`.
std::string source_path(const std::vector<Mount>& sources);

// Puts our tools into the store, if they are not there yet.
Result<Layer> tools_layer(const LayerStore& store);

}  // namespace glovebox
