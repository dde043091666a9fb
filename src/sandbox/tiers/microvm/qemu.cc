// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/microvm/qemu.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/sys/installation.h"
#include "sandbox/cgroup_host.h"
#include "sandbox/microvm/card.h"
#include "sandbox/microvm/protocol.h"

namespace glovebox::microvm {
namespace {

constexpr const char* kQemu = "/usr/bin/qemu-system-x86_64";
constexpr Bytes kSmallestStep{32UL << 20};

// The kernel's own words (Documentation/admin-guide/kernel-parameters.rst).
constexpr const char* kKernelArguments =
    "console=ttyS0 quiet panic=-1 no_timer_check tsc=reliable mitigations=off nokaslr "
    // Each security module and each statistic is code that every clone translates again.
    "lsm=landlock,yama psi=0 "
    // Otherwise each processor keeps up to an eighth of the memory for itself when it is freed, and
    // the balloon never hears of it.
    "sysctl.vm.percpu_pagelist_high_fraction=1000 "
    // As on a machine with more memory than the limit: who uses too much of it is killed, and that
    // is counted. By default the kernel refuses what is larger than all of its memory.
    "sysctl.vm.overcommit_memory=1";

// Descriptors, as glovebox-microvm arranges them, by the number of the port.
constexpr int descriptor_of(int port) {
  return port == kControlPort ? 5 : port == kMachinePort ? 3 : 4;
}

Result<Installation> look() {
  std::string without;
  for (std::string& each : GB_TRY(sys::installed_directories())) {
    if (::access((each + kRunner).c_str(), X_OK) != 0) {
      continue;
    }
    if (::access((each + kKernel).c_str(), R_OK) != 0) {
      without = each;
      continue;
    }
    if (::access(kQemu, X_OK) != 0) {
      return Error(ErrorCode::kUnsupported, "QEMU is not installed",
                   "on Debian, run 'apt install qemu-system-x86'");
    }
    return Installation{.programs = std::move(each), .qemu = kQemu};
  }
  return without.empty() ? Error(ErrorCode::kUnsupported, "glovebox-microvm was not found",
                                 "install it in /usr/libexec/glovebox/microvm")
                         : Error(ErrorCode::kUnsupported, "the microvm tier has no kernel",
                                 sys::run_installer(without + "/microvm"));
}

}  // namespace

Result<Installation> find_installation() {
  static const Result<Installation> kFound = look();
  return kFound;
}

MachineModel model_for(const Limits& limits, std::uint16_t egress_port) {
  // Eight steps from each power of two to the next: few sizes, and few bytes that nobody asked for.
  const std::uint64_t memory = limits.memory.count + kMachineMemory.count;
  const std::uint64_t step = std::max(std::bit_floor(memory - 1) / 8, kSmallestStep.count);
  return {.memory = Bytes{(memory + step - 1) / step * step},
          .processors = static_cast<unsigned>(
              std::clamp(std::ceil(limits.cpus), 1.0,
                         std::max(1.0, static_cast<double>(cgroup_host().processors)))),
          .egress_port = egress_port};
}

Result<void> check_card_drivers(const Installation& installation) {
  for (const char* const driver : kCardDrivers) {
    if (::access((installation.programs + driver).c_str(), R_OK) != 0) {
      return Error(ErrorCode::kUnsupported,
                   "the microvm tier's kernel was installed without the driver of a network card",
                   sys::run_installer(installation.programs + "/microvm"));
    }
  }
  return {};
}

Mount programs_mount(const Installation& installation) {
  return {.source = installation.programs, .target = std::string(kPrograms), .closed = true};
}

std::vector<std::string> machine_command(const Installation& installation,
                                         const MachineModel& model) {
  const std::string programs(kPrograms);
  std::vector<std::string> command = {
      installation.qemu,
      "-nodefaults",
      "-no-user-config",
      "-no-reboot",
      "-display",
      "none",
      "-machine",
      "q35,usb=off,vmport=off,smbus=off,sata=off,i8042=off",
      "-accel",
      "tcg,tb-size=96",
      "-cpu",
      "max",
      "-smp",
      std::to_string(model.processors),
      "-m",
      std::to_string(model.memory.count >> 20) + "M",
      "-kernel",
      programs + kKernel,
      "-initrd",
      programs + kInitramfs,
      "-append",
      model.egress_port == 0 ? kKernelArguments
                             : std::string(kKernelArguments) + " " + kEgressWord + "=" +
                                   std::to_string(model.egress_port),
      "-chardev",
      "stdio,id=console,signal=off",
      "-serial",
      "chardev:console",
      "-device",
      "virtio-serial-pci,max_ports=4",
      "-device",
      "virtio-balloon-pci,free-page-reporting=on",
  };
  if (model.egress_port != 0) {
    // Nothing is told of this host but the ports that the machine connects to: no IPv6, no files
    // (TFTP, SMB), no way in.
    command.insert(command.end(),
                   {"-netdev",
                    std::string("user,id=card,ipv6=off,net=") + kLinkNetwork +
                        ",host=" + kLinkGateway + ",dns=" + kLinkNames + ",dhcpstart=" + kLinkLent,
                    "-device", "virtio-net-pci,netdev=card,romfile="});
  }
  for (const int port : {kControlPort, kMachinePort, kFilesPort}) {
    const std::string number = std::to_string(port);
    command.insert(
        command.end(),
        {"-chardev", "socket,id=p" + number + ",fd=" + std::to_string(descriptor_of(port)),
         "-device", "virtserialport,nr=" + number + ",chardev=p" + number + ",id=port" + number});
  }
  return command;
}

}  // namespace glovebox::microvm
