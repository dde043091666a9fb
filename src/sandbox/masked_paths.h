// SPDX-License-Identifier: Apache-2.0
// Paths that /proc shows and no guest needs, relative to a sandbox's root.
#pragma once

#include <array>

namespace glovebox {

// What /proc shows everybody about the host, beyond the guest's own processes.
// Locks of other sandboxes would be a channel between any two.
// Files that only root can read need no mask: the guest's uid is nobody outside. Names as in runc's
// list of masked paths and in proc(5); not every kernel has all of them.
inline constexpr std::array<const char*, 14> kMaskedFiles = {
    "proc/keys",       "proc/key-users", "proc/kallsyms",   "proc/latency_stats", "proc/softirqs",
    "proc/interrupts", "proc/diskstats", "proc/partitions", "proc/schedstat",     "proc/iomem",
    "proc/ioports",    "proc/config.gz", "proc/locks",      "proc/cgroups"};
inline constexpr std::array<const char*, 6> kMaskedDirectories = {
    "proc/acpi", "proc/asound", "proc/scsi", "proc/bus", "proc/fs", "proc/pressure"};

}  // namespace glovebox
