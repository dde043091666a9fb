// SPDX-License-Identifier: Apache-2.0
#include "sandbox/resident_memory.h"

#include <algorithm>
#include <string>

namespace glovebox {
namespace {

std::uint64_t page_tables(pid_t pid) {
  return procfs::number_after(procfs::directory_of(pid) + "/status", "\nVmPTE:") << 10;
}

std::uint64_t mapped(pid_t pid) {
  const std::string path = procfs::directory_of(pid) + "/status";
  return (procfs::number_after(path, "\nRssAnon:") + procfs::number_after(path, "\nRssShmem:"))
         << 10;
}

// Counts only its share of pages that it shares with others; `otherwise` if the kernel does not
// tell.
std::uint64_t mapped_in_part(pid_t pid, std::uint64_t otherwise) {
  const std::string path = procfs::directory_of(pid) + "/smaps_rollup";
  const std::uint64_t all = procfs::number_after(path, "\nPss:");
  if (all == 0) {
    return otherwise;
  }
  const std::uint64_t files = procfs::number_after(path, "\nPss_File:");
  return (all - std::min(files, all)) << 10;
}

}  // namespace

std::vector<ProcessMemory> memory_of_guests(const GuestPlace& place, std::uint64_t enough) {
  const pid_t warden = warden_in(place);
  std::vector<ProcessMemory> processes;
  for (const pid_t pid : processes_in(place)) {
    if (pid != warden) {
      processes.push_back({pid, mapped(pid) + page_tables(pid)});
    }
  }
  if (total_of(processes) > enough) {
    for (ProcessMemory& each : processes) {
      each.bytes =
          std::min(each.bytes, mapped_in_part(each.pid, each.bytes) + page_tables(each.pid));
    }
  }
  return processes;
}

std::uint64_t total_of(const std::vector<ProcessMemory>& processes) {
  std::uint64_t total = 0;
  for (const ProcessMemory& each : processes) {
    total += each.bytes;
  }
  return total;
}

std::vector<pid_t> largest_beyond(std::vector<ProcessMemory> processes, std::uint64_t most) {
  std::ranges::sort(processes, std::ranges::greater(), &ProcessMemory::bytes);
  std::uint64_t left = total_of(processes);
  std::vector<pid_t> largest;
  for (const ProcessMemory& each : processes) {
    if (left <= most) {
      break;
    }
    largest.push_back(each.pid);
    left -= each.bytes;
  }
  return largest;
}

}  // namespace glovebox
