// SPDX-License-Identifier: Apache-2.0
// The workspace of a template: files put there and commands run there, in a sandbox of the template
// as far as it is made.
#pragma once

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sandbox/spec.h"
#include "service/templates/build.h"

namespace glovebox {

struct WorkspaceContent {
  Content content;  // Has "home.tar".
  bool cached = false;
};

// A sandbox of the template as far as it is made, with an empty workspace.
SandboxSpec sandbox_of(const TemplateParts& parts, const ContentStore& store, const Limits& limits);

// The limits of a build; the usual ones if neither the recipe nor its base sets any.
Limits build_limits(const TemplateParts& parts);

// Why a command of a build has failed. The message ends with the last line of its output.
Error command_failed(const std::string& command, const RunOutcome& outcome, std::string hint);

// Begins with the workspace of `parts`.
Result<WorkspaceContent> make_workspace(const Recipe& recipe,
                                        const TemplateParts& parts,
                                        const BuildNetwork& network,
                                        const ContentStore& store,
                                        BuildMonitor& monitor);

}  // namespace glovebox
