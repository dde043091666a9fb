// SPDX-License-Identifier: Apache-2.0
// QEMU, which runs the machines of the microvm tier: finding it and its kernel, and its command.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "spec/limits.h"

namespace glovebox::microvm {

struct Installation {
  std::string programs;  // The directory of our programs, which has the tier's own below it.
  std::string qemu;
};

// kUnsupported says what is missing and how to install it. Found once in a process.
Result<Installation> find_installation();

// What the machine needs in memory beside its guests, and QEMU beside the machine.
inline constexpr Bytes kMachineMemory{96UL << 20};
inline constexpr Bytes kEmulatorMemory{192UL << 20};

// The command of glovebox-microvm, as it is started in a sandbox that shows the programs at
// microvm::kPrograms.
std::vector<std::string> machine_command(const Installation& installation, const Limits& limits);

}  // namespace glovebox::microvm
