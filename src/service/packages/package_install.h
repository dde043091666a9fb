// SPDX-License-Identifier: Apache-2.0
// Runs pip or npm, in a sandbox of its own and without a network, and takes out what it installed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "service/packages/package_request.h"
#include "spec/mount.h"

namespace glovebox {

struct PackageInstall {
  PackageManager manager = PackageManager::kPip;
  std::vector<PackageRequest> requests;  // All of this manager.
  std::vector<Mount> sources;            // Directories with packages.
  Mount tools;                           // Of package_tools.h.
  int cancel_fd = -1;
  std::string root{};  // Whose manager installs, as SandboxSpec::root.
};

// Installs into `directory` of the host, which is empty. Build and install scripts of the packages
// run, but within the walls; what they leave is taken as any guest's files are: regular files below
// `directory` and nothing else. Fails with kInvalid if a package is not in the sources, with
// kUnsupported if the manager is not installed.
Result<void> install_packages(const PackageInstall& install, const std::string& directory);

}  // namespace glovebox
