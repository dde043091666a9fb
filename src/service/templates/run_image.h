// SPDX-License-Identifier: Apache-2.0
// Images for runs without a daemon: unpacked once, below the user's cache directory.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "service/runs/one_shot.h"
#include "service/templates/build.h"
#include "service/templates/build_monitor.h"
#include "service/templates/build_network.h"
#include "service/templates/content_store.h"

namespace glovebox {

struct RunImage {
  OneShot::Image shown;  // Without a user.
  ImageConfig config;
  std::vector<Content> held;  // Keeps the pieces as long as they are shown.
};

// `reference` is a path (an OCI layout, or an archive as `docker save` or skopeo write it); with
// docker-archive:, oci-archive: or oci: in front it may end with :IMAGE. Anything else is an image
// of a registry, which is fetched behind the rules of `network`. What was unpacked before is taken
// from the cache. kInvalid for what is not an image, kNotFound for a path with nothing there.
Result<RunImage> open_run_image(const std::string& reference,
                                const BuildNetwork& network,
                                BuildMonitor& monitor);

}  // namespace glovebox
