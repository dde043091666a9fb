// SPDX-License-Identifier: Apache-2.0
// Where to find what belongs to a program of ours: its other programs, the agents, the file server.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::sys {

// The directories to look in, the nearest first: that of the running program (/proc/self/exe,
// proc(5)), libexec/glovebox beside that, and /usr/libexec/glovebox. Not empty.
Result<std::vector<std::string>> installed_directories();

// A hint to run the program `install` of such a directory, as root if this user may not write
// there.
std::string run_installer(const std::string& directory);

}  // namespace glovebox::sys
