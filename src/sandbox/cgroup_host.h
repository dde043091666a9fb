// SPDX-License-Identifier: Apache-2.0
// What this host's cgroups look like, and where ours may go: found out once in a process.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/cgroup.h"

namespace glovebox {

// Where systemd, and everybody since, mounts the hierarchies (file-hierarchy(7)).
inline constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

struct CgroupHost {
  CgroupSupport support;
  // v1: our own directory in each hierarchy, empty if it is absent or not writable.
  std::string v1_memory;
  std::string v1_pids;
  std::string v1_cpu;
  std::string v1_cpuacct;
  std::string v1_blkio;
  // v2: the directory below which groups are made; its controllers are delegated.
  std::string v2_parent;
  double processors = 1;
};

const CgroupHost& cgroup_host();

// Where a process is in the hierarchy of `controller` (v1), or in v2's when that is empty: a
// directory that we can see. Empty if there is none.
std::string cgroup_directory(pid_t pid, std::string_view controller);

// "MAJOR:MINOR" of each whole disk of the host.
std::vector<std::string> block_devices();

// The value behind "key " at the beginning of a line of `text`, or zero.
std::uint64_t keyed_value(std::string_view text, std::string_view key);

}  // namespace glovebox
