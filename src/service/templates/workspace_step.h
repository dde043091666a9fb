// SPDX-License-Identifier: Apache-2.0
// The workspace of a template: files put there and commands run there, in a sandbox of the template
// as far as it is made.
#pragma once

#include "base/result.h"
#include "sandbox/spec.h"
#include "service/templates/build.h"

namespace glovebox {

struct WorkspaceContent {
  Content content;  // Has "home.tar".
  bool cached = false;
};

// A sandbox of the template as far as it is made, with an empty workspace.
SandboxSpec sandbox_of(const TemplateParts& parts, const ContentStore& store, const Limits& limits);

// Begins with the workspace of `parts`.
Result<WorkspaceContent> make_workspace(const Recipe& recipe,
                                        const TemplateParts& parts,
                                        const ContentStore& store,
                                        BuildMonitor& monitor);

}  // namespace glovebox
