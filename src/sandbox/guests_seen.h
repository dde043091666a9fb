// SPDX-License-Identifier: Apache-2.0
// The processes of a sandbox that runs on the host's kernel, as the host sees them (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/cgroup.h"

namespace glovebox {

// Where the processes of a sandbox are found.
struct GuestPlace {
  const Cgroup& cgroup;
  int warden_pidfd;
  bool own_pids;  // A pid namespace.
};

struct GuestSeen {
  pid_t outside = 0;
  std::uint64_t started = 0;  // With the number, identifies this process and no later one.
  pid_t inside = 0;
  std::string command{};  // The beginning of its words; the guest's.
};

// By their numbers outside; the warden is among them if it is in the group.
std::vector<pid_t> processes_in(const GuestPlace& place);
pid_t warden_in(const GuestPlace& place);

// Those that live, without the warden.
std::vector<GuestSeen> guests_in(const GuestPlace& place);

// Kills the guests that are not among `kept`, and what they start meanwhile. kUnavailable if some
// still live after five seconds.
Result<void> end_guests_but(const std::vector<GuestSeen>& kept, const GuestPlace& place);

namespace procfs {

// The number after `key` in a short file of the kernel's, or zero.
std::uint64_t number_after(const std::string& path, std::string_view key);
// The names in a directory that are numbers.
std::vector<pid_t> numbers_in(const std::string& path);
std::string directory_of(pid_t pid);

}  // namespace procfs
}  // namespace glovebox
