// SPDX-License-Identifier: Apache-2.0
// What git is told about the places in a workspace that a policy hides. Otherwise it gives up at
// the first file that it may not read: 'git add -A' of a workspace with a hidden .netrc.
#pragma once

#include <string>

#include "spec/command.h"
#include "spec/place_rules.h"

namespace glovebox {

// The name of the file, among a sandbox's own (SandboxSpec::kOwnFiles).
inline constexpr const char* kGitExcludes = "git-excludes";

// Its text: these places, from the top of a repository.
std::string git_excludes(const PlaceRules& read);

// Makes git read it. What a guest sets itself comes after it, and wins.
Environment git_excludes_environment();

}  // namespace glovebox
