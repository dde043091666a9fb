// SPDX-License-Identifier: Apache-2.0
// Serves a machine with its files, and saves it when it is told to.
#pragma once

#include "base/unique_fd.h"
#include "sandbox/microvm/file_server.h"
#include "sandbox/microvm/machine_process.h"

namespace glovebox::microvm {

// The stream for saving (template_files.h), with the first byte of the machine's own port. To be
// called before the machine has that.
UniqueFd receive_saving();

// Until the machine ends.
void serve(FileServer& server, MachineProcess& machine, UniqueFd& saving);

}  // namespace glovebox::microvm
