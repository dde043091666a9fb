// SPDX-License-Identifier: Apache-2.0
// Where that lies which belongs to a program of ours: its other programs, the agents, the file
// server.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::sys {

// The directories to look in, the nearest first: that of the running program (/proc/self/exe,
// proc(5)), libexec/glovebox beside it, and /usr/libexec/glovebox. Not empty.
Result<std::vector<std::string>> installed_directories();

}  // namespace glovebox::sys
