// SPDX-License-Identifier: Apache-2.0
// Makes the template of a machine (template_files.h).
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::microvm {

// Boots the machine, waits until its first program does, and writes what it is then to standard
// output. Returns the exit status. `command` begins with the size of the memory in bytes; `root` is
// shown to the machine, which knows names in it afterwards.
int make_template(std::vector<std::string> command, UniqueFd root);

}  // namespace glovebox::microvm
