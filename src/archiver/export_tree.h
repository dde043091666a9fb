// SPDX-License-Identifier: Apache-2.0
// A tree of files as part of a layer of a container image.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::archiver {

// Writes the directory and everything below it as entries of a tar archive, without the end of an
// archive. `prefix` names the directory itself and begins every other name. The same tree gives the
// same bytes: in the order of names, without owners and times, and without regard to holes.
// Devices, FIFOs and sockets are left out, and so are paths of 4096 bytes or more. Nobody may
// change the tree meanwhile.
Result<void> export_tree(int directory_fd, const std::string& prefix, int output_fd);

}  // namespace glovebox::archiver
