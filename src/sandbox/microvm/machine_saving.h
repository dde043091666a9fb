// SPDX-License-Identifier: Apache-2.0
// Serves a machine's files to it, and saves the machine when told to.
#pragma once

#include "base/unique_fd.h"
#include "sandbox/microvm/file_server.h"
#include "sandbox/microvm/machine_process.h"

namespace glovebox::microvm {

// The stream for saving (template_files.h), which comes with the first byte of the machine's own
// port. Call it before the machine has that port.
UniqueFd receive_saving();

// Until the machine ends.
void serve(FileServer& server, MachineProcess& machine, UniqueFd& saving);

}  // namespace glovebox::microvm
