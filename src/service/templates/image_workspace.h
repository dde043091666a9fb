// SPDX-License-Identifier: Apache-2.0
// What an image has in the place of the workspace, which sandboxes cover with their own.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "service/templates/build_monitor.h"
#include "service/templates/content_store.h"
#include "service/templates/image_config.h"
#include "service/templates/workspace_step.h"

namespace glovebox {

// The workspace that its sandboxes begin with; nothing if the root has no such directory, or
// nothing in it. `home` is the path of the workspace.
Result<std::optional<WorkspaceContent>> workspace_of_root(const Content& root,
                                                          const std::string& home,
                                                          const ContentStore& store,
                                                          BuildMonitor& monitor);

// Where the workspace of an image's sandboxes is best put: its WORKDIR, if that is /home/NAME.
std::optional<std::string> home_of(const ImageConfig& config);

// The configuration with a directory that sandboxes of this root have: one that they do not have is
// left out, and the log says so.
ImageConfig with_usable_directory(ImageConfig config,
                                  const Content& root,
                                  const std::string& home,
                                  BuildMonitor& monitor);

}  // namespace glovebox
