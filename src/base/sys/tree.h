// SPDX-License-Identifier: Apache-2.0
// Directory trees that may be hostile.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::sys {

// Removes a directory and all below it, without following a link and whatever its names and modes
// are. A directory that is not there is removed already.
Result<void> remove_tree(const std::string& path);

// The same for the directory `name` in `parent`; needs no /proc.
Result<void> remove_tree_at(int parent, const std::string& name);

}  // namespace glovebox::sys
