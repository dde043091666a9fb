// SPDX-License-Identifier: Apache-2.0
// The machine that guests see: as large as their limits, not as the host.
//
// Programs size their thread pools and caches by what a handful of files say. In a tier with a root
// of its own these files are ours; everywhere, variables tell the libraries that heed them.
// Two things still show the host: sysinfo(2), and the processors that sched_getaffinity(2) names.
// Guests are not pinned to processors, because a busy one would hold up the guests pinned to it
// while another one idles.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "spec/command.h"
#include "spec/limits.h"
#include "spec/warden_protocol.h"

namespace glovebox {

struct MachineFile {
  const char* name;      // Below one directory of ours.
  const char* shown_as;  // Without the leading slash.
};

// In the order in which the warden has them. Files of /proc are mounted over the kernel's own.
inline constexpr std::array<MachineFile, warden::kMachineFiles> kMachineFiles = {
    {{"meminfo", "proc/meminfo"},
     {"cpuinfo", "proc/cpuinfo"},
     {"stat", "proc/stat"},
     {"processors", "sys/devices/system/cpu/online"}}};

// The contents of these files. They show no use: all memory is free, and no processor has worked.
// Never more than the host has.
std::array<std::string, warden::kMachineFiles> machine_texts(const Limits& limits);

// The payload of a request that has the warden write them (warden::Request::kMachine).
std::string machine_request(const Limits& limits);

// The bytes that they take in a file system in memory, whatever the limits; some 16 KiB with few
// processors, and at most 128 KiB.
std::uint64_t machine_room();

// How many threads are worth starting, for OpenMP (nproc(1) heeds it, too) and for Go.
Environment machine_environment(const Limits& limits);

}  // namespace glovebox
