// SPDX-License-Identifier: Apache-2.0
// QEMU, which runs the machines of the microvm tier: finding it and its kernel, and its command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "spec/limits.h"
#include "spec/mount.h"

namespace glovebox::microvm {

struct Installation {
  std::string programs;  // The directory of our programs, which has the tier's own below it.
  std::string qemu;
};

// Below Installation::programs.
inline constexpr const char* kRunner = "/microvm/glovebox-microvm";
inline constexpr const char* kKernel = "/microvm/kernel";
inline constexpr const char* kInitramfs = "/microvm/initramfs";
inline constexpr const char* kMemoryOpener = "/microvm/memory-opener.so";
inline constexpr const char* kBalloonDriver = "/microvm/balloon.ko";  // May be missing.

// kUnsupported says what is missing and how to install it. Found once in a process.
Result<Installation> find_installation();

// The memory that the machine needs besides its guests', and QEMU besides the machine's.
inline constexpr Bytes kMachineMemory{96UL << 20};
inline constexpr Bytes kEmulatorMemory{192UL << 20};

// There are few different ones, since each has a template of its own.
struct MachineModel {
  Bytes memory;
  unsigned processors = 1;
  // As SandboxSpec::egress_port: where the machine's card leads; 0: no card (microvm/card.h).
  std::uint16_t egress_port = 0;
};
// The model that holds guests with these limits.
MachineModel model_for(const Limits& limits, std::uint16_t egress_port);

// kUnsupported if the machine's kernel has no driver for a card.
Result<void> check_card_drivers(const Installation& installation);

// What QEMU calls the card in the state of a machine that has one.
inline constexpr std::string_view kCardState = "virtio-net";

// Shows the programs at microvm::kPrograms.
Mount programs_mount(const Installation& installation);

// QEMU's command, as glovebox-microvm starts it in a sandbox that shows the programs at
// microvm::kPrograms.
std::vector<std::string> machine_command(const Installation& installation,
                                         const MachineModel& model);

}  // namespace glovebox::microvm
