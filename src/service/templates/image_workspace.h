// SPDX-License-Identifier: Apache-2.0
// What an image has in the place of the workspace, which sandboxes cover with their own.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "service/templates/build_monitor.h"
#include "service/templates/content_store.h"
#include "service/templates/workspace_step.h"

namespace glovebox {

// As the workspace that sandboxes begin with; nothing where the root has no such directory, or
// nothing in it. `home` is the path of the workspace.
Result<std::optional<WorkspaceContent>> workspace_of_root(const Content& root,
                                                          const std::string& home,
                                                          const ContentStore& store,
                                                          BuildMonitor& monitor);

}  // namespace glovebox
