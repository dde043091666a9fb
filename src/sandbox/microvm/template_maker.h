// SPDX-License-Identifier: Apache-2.0
// Makes the template of a machine (template_files.h).
#pragma once

#include <string>
#include <vector>

namespace glovebox::microvm {

// Boots the machine, waits until its first program does, and writes what it is then to standard
// output. Returns the exit status. `command` begins with the size of the memory in bytes.
int make_template(std::vector<std::string> command);

}  // namespace glovebox::microvm
