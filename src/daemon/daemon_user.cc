// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon_user.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace glovebox {
namespace {

std::optional<unsigned> to_id(std::string_view text) {
  unsigned id = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && id != static_cast<unsigned>(-1) ? std::optional(id) : std::nullopt;
}

std::optional<DaemonUser> by_number(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto uid = to_id(text.substr(0, colon));
  const auto gid = to_id(text.substr(colon + 1));
  return uid && gid ? std::optional(DaemonUser{.uid = *uid, .gid = *gid}) : std::nullopt;
}

// Not by getpwnam(3), which loads libraries of the system into a program that is linked statically.
std::optional<DaemonUser> by_name(const std::string& name) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/etc/passwd", "re"), std::fclose);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread exists.
  while (const passwd* const entry = file ? ::fgetpwent(file.get()) : nullptr) {
    if (name == entry->pw_name) {
      return DaemonUser{.uid = entry->pw_uid, .gid = entry->pw_gid};
    }
  }
  return std::nullopt;
}

Result<void> drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      return Error::from_errno("drop capabilities");
    }
  }
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    return Error::from_errno("drop capabilities");
  }
  return {};
}

}  // namespace

Result<DaemonUser> find_user(const std::string& name) {
  const auto numbers = by_number(name);
  const auto found = numbers ? numbers : by_name(name);
  if (!found) {
    return Error(ErrorCode::kInvalid, "unknown user '" + printable(name) + "'",
                 "create it: useradd --system --no-create-home glovebox");
  }
  if (found->uid == 0 || found->gid == 0) {
    return Error(ErrorCode::kInvalid, "the daemon's user '" + printable(name) + "' is root",
                 "choose a user and a group without privileges, or leave out --user");
  }
  return *found;
}

Result<void> become(const DaemonUser& user) {
  GB_TRY(drop_capabilities());
  if (::setgroups(0, nullptr) != 0 || ::setresgid(user.gid, user.gid, user.gid) != 0 ||
      ::setresuid(user.uid, user.uid, user.uid) != 0) {
    return Error::from_errno("become the daemon's user");
  }
  // The capabilities went with the ids, unless secure bits keep them.
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0 ||
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Error::from_errno("drop capabilities");
  }
  // A process that has changed its ids may not open its own /proc/self/fd. No core file: it would
  // hold everybody's keys.
  const rlimit no_core{};
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 || ::setrlimit(RLIMIT_CORE, &no_core) != 0) {
    return Error::from_errno("forbid core files");
  }
  if (::setresuid(0, 0, 0) == 0 || ::geteuid() != user.uid) {
    return Error(ErrorCode::kInternal, "the daemon could become root again");
  }
  return {};
}

}  // namespace glovebox
