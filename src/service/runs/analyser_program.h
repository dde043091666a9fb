// SPDX-License-Identifier: Apache-2.0
// Where the program glovebox-analyser is.
#pragma once

#include <string>

#include "base/result.h"
#include "spec/mount.h"

namespace glovebox {

// Add this to the mounts of a sandbox that will analyse programs: the directory with the program,
// at the same path inside. It is beside our own program's, in ../libexec/glovebox/analyser.
// kUnsupported if it is not installed. Any thread may call it.
Result<Mount> analyser_mount();

// The program in such a sandbox.
Result<std::string> analyser_path();

}  // namespace glovebox
