// SPDX-License-Identifier: Apache-2.0
// Surroundings: what a sandbox takes over from the process that makes it.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox {

// Our program, namespaces, root directory, cgroup, and what children inherit: resource limits,
// processors, priority. Two processes of one user that have the same text would make the same
// sandbox. Opaque. Fails if /proc does not tell.
Result<std::string> surroundings();

}  // namespace glovebox
