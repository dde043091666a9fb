// SPDX-License-Identifier: Apache-2.0
// Templates of machines (microvm/template_files.h): finding one, or making it at the first use.
//
// They are in `.machines` of the runtime directory, one for each combination of a machine's size,
// its guests' home, and the build, QEMU, kernel and boot of the host. All that is in one came from
// our own programs and the kernel: a template is made in a sandbox that has never had a guest.
#pragma once

#include <string>

#include "base/result.h"
#include "sandbox/tiers/microvm/qemu.h"

namespace glovebox::microvm {

// The directory of the machine's template, for SandboxSpec::mounts. Makes it if there is none,
// which takes as long as a boot; others that ask for the same one meanwhile wait for that. An error
// says why there is none. A directory that others could write to does not count. Any thread.
Result<std::string> find_or_make_template(const Installation& installation,
                                          const MachineModel& model,
                                          const std::string& home);

// Writes what glovebox-microvm tells of a machine (microvm/template_files.h) into the directory:
// the files of a template whose memory has that size. It is trusted no further than that.
Result<void> receive_machine(int from, const std::string& directory, Bytes memory);

}  // namespace glovebox::microvm
