// SPDX-License-Identifier: Apache-2.0
// Makes the template of a machine (template_files.h).
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::microvm {

// Boots the machine, has its warden move in, waits until nothing happens in it any more, and writes
// its state to standard output, a socket where the warden's first frame waits. Returns the
// exit status. `command` begins with the size of the memory in bytes; `root` is
// shown to the machine, which knows names in it afterwards.
int make_template(std::vector<std::string> command, UniqueFd root);

}  // namespace glovebox::microvm
