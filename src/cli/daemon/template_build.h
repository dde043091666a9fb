// SPDX-License-Identifier: Apache-2.0
// Has a daemon build a template, and shows the progress; or exports a template as an archive.
#pragma once

#include <string>
#include <vector>

#include "cli/daemon/daemon_client.h"
#include "cli/daemon/remote_options.h"

namespace glovebox::cli {

// Exactly one of the sources is set; with a context, `recipe` is the Dockerfile.
struct BuildOrder {
  DaemonOptionsText daemon{};
  std::string name{};
  std::string recipe{};
  std::string docker{};
  std::string oci{};
  std::string rootfs{};
  std::string suite{};
  std::string registry{};      // The name of an image.
  std::string login_user{};    // Of its registry; the password is standard input,
  std::string login_secret{};  // or this secret of the daemon's.
  std::string context{};       // The directory of a Dockerfile's files.
  std::vector<std::string> build_args{};
  std::vector<std::string> package_sources{};  // With a recipe; relative to our directory.
  RemoteNetworkText network{};                 // With a Dockerfile, a recipe or a registry.
  bool no_cache = false;
  bool quiet = false;
};

// Returns the exit status; what was built is printed.
Result<int> build_template(const BuildOrder& order);

struct ExportOrder {
  DaemonOptionsText daemon{};
  std::string name{};
  std::string output{};  // A file, which is replaced; "-" for standard output.
  bool quiet = false;
};

// Returns the exit status.
Result<int> export_template(const ExportOrder& order);

}  // namespace glovebox::cli
