// SPDX-License-Identifier: Apache-2.0
#include "warden/walls.h"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/sys/raw.h"

namespace glovebox::warden {
namespace {

std::uint64_t bounding_set() {
  std::uint64_t set = 0;
  for (int capability = 0; capability <= 63; ++capability) {
    const int held = ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (held < 0) {
      break;  // Past the last one that this kernel has.
    }
    set |= held != 0 ? 1ULL << capability : 0;
  }
  return set;
}

bool holds_no_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (sys::raw(SYS_capget, &header, data.data()) != 0) {
    return false;
  }
  for (const __user_cap_data_struct& set : data) {
    if ((set.effective | set.permitted | set.inheritable) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

ReadyReport observe_walls(int proc_self) {
  ReadyReport report;
  for (const char* const name :
       {"ns/user", "ns/mnt", "ns/pid", "ns/net", "ns/ipc", "ns/uts", "ns/cgroup"}) {
    struct stat status {};
    report.namespaces.push_back(::fstatat(proc_self, name, &status, 0) == 0 ? status.st_ino : 0);
  }
  const int seccomp = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  report.seccomp_mode = seccomp < 0 ? 0 : static_cast<std::uint32_t>(seccomp);
  report.uid = ::getuid();
  report.no_new_privs = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  report.capabilities = bounding_set();
  report.no_capabilities = report.capabilities == 0 && holds_no_capabilities();
  utsname name{};
  if (sys::raw(SYS_uname, &name) == 0) {
    report.kernel = std::string(name.release) + " " + name.version;
  }
  return report;
}

}  // namespace glovebox::warden
