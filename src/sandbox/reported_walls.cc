// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reported_walls.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "sandbox/policy/capabilities.h"

namespace glovebox {
namespace {

// The highest Landlock ABI that a report is believed to name.
constexpr std::uint32_t kHighestAbi = 64;

// The inode of one of our own namespaces.
std::uint64_t own_namespace(const char* name) {
  struct stat status {};
  const std::string path = std::string("/proc/self/ns/") + name;
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// As ReadyReport::kernel has it.
std::string own_kernel_name() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.release) + " " + name.version : std::string();
}

// Capabilities that have no name here are never given to our guests.
std::vector<std::string> capability_names(std::uint64_t set) {
  std::vector<std::string> names;
  for (const policy::Capability& capability : policy::kRootCapabilities) {
    if ((set >> capability.number & 1) != 0) {
      names.emplace_back(capability.name);
    }
  }
  return names;
}

}  // namespace

Result<void> read_walls(const warden::ReadyReport& ready,
                        const Enclosure& enclosure,
                        Walls& walls) {
  if (ready.namespaces.size() != 7) {
    return Error(ErrorCode::kInternal, "the warden reported the wrong namespaces");
  }
  const bool own_kernel = enclosure.features.own_kernel;
  if (own_kernel && ready.kernel == own_kernel_name()) {
    return Error(ErrorCode::kInternal, "the sandbox started on the host's own kernel");
  }
  // Another kernel's numbers mean nothing beside ours, and nothing of ours is in it.
  const auto own = [&](std::size_t index, const char* name) {
    return own_kernel ||
           (ready.namespaces[index] != 0 && ready.namespaces[index] != own_namespace(name));
  };
  walls.kernel = printable(ready.kernel);
  if (!enclosure.machine.empty()) {
    walls.kernel += " in " + enclosure.machine;
  }
  walls.user_ns = own(0, "user");
  walls.mount_ns = own(1, "mnt");
  walls.pid_ns = own(2, "pid");
  walls.net_ns = own(3, "net");
  walls.ipc_ns = own(4, "ipc");
  walls.uts_ns = own(5, "uts");
  walls.cgroup_ns = own(6, "cgroup");
  walls.seccomp = ready.seccomp_mode == 2 ? enclosure.seccomp : "none";
  // A warden that builds its walls itself has set its own rules.
  walls.landlock = std::max(
      enclosure.landlock, own_kernel ? static_cast<int>(std::min(ready.landlock, kHighestAbi)) : 0);
  walls.cgroup = to_string(enclosure.cgroup.mode());
  walls.uid = walls.user_ns || ready.uid != ::geteuid() ? "mapped" : "same";
  walls.no_capabilities = ready.no_capabilities;
  walls.no_new_privs = ready.no_new_privs;
  const bool is_root = walls.user == "root";
  if (is_root) {
    walls.capabilities = capability_names(ready.capabilities);
  }
  if (ready.seccomp_mode != 2 || (!ready.no_new_privs && !is_root)) {
    return Error(ErrorCode::kInternal, "the sandbox started without its system call filter");
  }
  if (is_root && (ready.capabilities & ~policy::kRootCapabilityMask) != 0) {
    return Error(ErrorCode::kInternal, "the sandbox started with more capabilities than root's");
  }
  return {};
}

std::vector<std::string> notes_on_walls(const warden::ReadyReport& ready,
                                        const Enclosure& enclosure,
                                        const Walls& walls) {
  std::vector<std::string> notes;
  if (enclosure.nested) {
    notes.emplace_back(
        "the guest can make namespaces and mounts of its own, so it reaches more of the kernel, "
        "and Landlock restricts no files");
  } else if (enclosure.landlock == 0 && !enclosure.realm && !enclosure.features.own_kernel) {
    notes.emplace_back(
        enclosure.carrier
            ? "no Landlock inside: the engine's filter refuses it, or its runtime's kernel has "
              "none; the other walls are in place"
            : "this kernel has no Landlock; the other walls are in place");
  }
  if (!walls.user_ns && ready.uid == ::geteuid()) {
    notes.emplace_back(
        "the guest has your own user id, so it may not change file modes by name: linked "
        "programs cannot run here");
  }
  if (!enclosure.features.limits_memory) {
    notes.push_back("no cgroup is available to limit memory: " + Cgroup::support().reason +
                    " (see 'glovebox doctor')");
  } else if (watches_memory(enclosure)) {
    notes.push_back(
        "memory is limited by measuring it several times a second, because no cgroup is "
        "available: " +
        Cgroup::support().reason + " (see 'glovebox doctor')");
  }
  return notes;
}

bool watches_memory(const Enclosure& enclosure) {
  return enclosure.pidfd && !enclosure.features.own_kernel && !enclosure.cgroup.limits_memory();
}

}  // namespace glovebox
