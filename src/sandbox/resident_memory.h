// SPDX-License-Identifier: Apache-2.0
// The memory of a sandbox's processes, if no cgroup counts it (proc_pid_status(5),
// proc_pid_smaps(5)).
//
// What belongs to no process is not in it: files of the sandbox's own file systems, which
// Limits::disk bounds, and what waits in sockets and pipes. Files in memory without a mount
// (memfd_create(2)) and System V objects could hide there, so the tiers refuse them if this is
// what limits memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "sandbox/guests_seen.h"

namespace glovebox {

struct ProcessMemory {
  pid_t pid = 0;
  std::uint64_t bytes = 0;
};

// Bytes by process, without the warden and without the pages of programs and other files on disk;
// page tables count. A first look counts each page that a process has mapped as its own. Only if
// that is more than `enough`, a second, slower look counts pages that several processes share in
// parts.
std::vector<ProcessMemory> memory_of_guests(const GuestPlace& place, std::uint64_t enough);

std::uint64_t total_of(const std::vector<ProcessMemory>& processes);

// The processes to end, the largest first, so that the rest hold at most `most` bytes.
std::vector<pid_t> largest_beyond(std::vector<ProcessMemory> processes, std::uint64_t most);

}  // namespace glovebox
