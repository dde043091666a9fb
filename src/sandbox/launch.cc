// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

namespace glovebox {
namespace {

Result<UniqueFd> open_warden() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  if (const char* const named = std::getenv("GLOVEBOX_WARDEN"); named != nullptr) {
    UniqueFd fd(::open(named, O_RDONLY | O_CLOEXEC));
    if (!fd) {
      return Error::from_errno(std::string("open ") + named)
          .with_hint("GLOVEBOX_WARDEN must name the program glovebox-warden");
    }
    return fd;
  }
  std::array<char, 4096> self{};
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (size <= 0) {
    return Error::from_errno("read /proc/self/exe").with_hint("mount /proc");
  }
  const std::string program(self.data(), static_cast<std::size_t>(size));
  const std::string directory = program.substr(0, program.rfind('/'));
  for (const std::string& path : {directory + "/glovebox-warden",
                                  directory + "/../libexec/glovebox/glovebox-warden",
                                  std::string("/usr/libexec/glovebox/glovebox-warden")}) {
    if (UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); fd) {
      return fd;
    }
  }
  return Error(ErrorCode::kUnsupported, "glovebox-warden is not beside " + program,
               "install it there or in /usr/libexec/glovebox, or set GLOVEBOX_WARDEN");
}

}  // namespace

Result<int> warden_program() {
  static const Result<UniqueFd> kProgram = open_warden();
  if (!kProgram) {
    return kProgram.error();
  }
  return kProgram.value().get();
}

Result<Cloned> clone_into(child::Plan& plan, std::uint64_t flags, int cgroup_fd) {
  int pidfd = -1;
  abi::CloneArgs arguments{};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (cgroup_fd >= 0) {
    arguments.flags |= abi::kCloneIntoCgroup;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  plan.cloned_at_ns = static_cast<std::uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch().count());
  // Without libc: its fork would run handlers and take locks that other threads may hold.
  const long pid = sys::raw(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) {
    child::enter(plan);
  }
  if (pid < 0) {
    return Error::from_errno("clone", static_cast<int>(-pid));
  }
  return Cloned{.pid = static_cast<pid_t>(pid), .pidfd = UniqueFd(pidfd)};
}

int landlock_abi() {
  static const long kAbi = sys::raw(SYS_landlock_create_ruleset, nullptr, 0,
                                    abi::kLandlockCreateRulesetVersion);
  return kAbi > 0 ? static_cast<int>(kAbi) : 0;
}

std::uint64_t landlock_fs_rights(int abi) {
  std::uint64_t rights = abi::kFsAllAbi1;
  if (abi >= 2) {
    rights |= abi::kFsRefer;
  }
  if (abi >= 3) {
    rights |= abi::kFsTruncate;
  }
  if (abi >= 5) {
    rights |= abi::kFsIoctlDev;
  }
  return rights;
}

}  // namespace glovebox
