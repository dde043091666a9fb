// SPDX-License-Identifier: Apache-2.0
// The capabilities that a root guest keeps (SandboxSpec::as_root), over its own user namespace
// alone, and why. Every other one is dropped for good before anything of the guest's runs.
#pragma once

#include <linux/capability.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace glovebox::policy {

struct Capability {
  unsigned number;
  std::string_view name;  // As in capabilities(7), without "CAP_" and in lower case.
  std::string_view why;
};

// clang-format off
inline constexpr std::array kRootCapabilities = {
    Capability{CAP_CHOWN, "chown", "Package managers set the owners of files."},
    Capability{CAP_DAC_OVERRIDE, "dac_override", "Root reads and writes files of the sandbox's other users."},
    Capability{CAP_FOWNER, "fowner", "Root changes modes, times and attributes of their files."},
    Capability{CAP_FSETID, "fsetid", "The set-user-id and set-group-id bits of a package's files stay."},
    Capability{CAP_KILL, "kill", "Root ends services that run as other users."},
    Capability{CAP_SETGID, "setgid", "Services, su and sudo change groups."},
    Capability{CAP_SETUID, "setuid", "Services, su and sudo change users."},
    Capability{CAP_SETPCAP, "setpcap", "Services give up capabilities that they do not need."},
    Capability{CAP_NET_BIND_SERVICE, "net_bind_service", "Services listen on ports below 1024."},
    Capability{CAP_SYS_CHROOT, "sys_chroot", "Services lock themselves up in an empty directory."},
    Capability{CAP_SETFCAP, "setfcap", "Packages give programs capabilities; those of this table are all they can get."},
};
// clang-format on

consteval std::uint64_t root_capability_mask() {
  std::uint64_t mask = 0;
  for (const Capability& capability : kRootCapabilities) {
    mask |= 1ULL << capability.number;
  }
  return mask;
}
inline constexpr std::uint64_t kRootCapabilityMask = root_capability_mask();

}  // namespace glovebox::policy
