// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/sys/spawn.h"

namespace glovebox {
namespace {

constexpr const char* kWarden = "glovebox-warden";
constexpr const char* kArchiver = "glovebox-archiver";

struct Programs {
  UniqueFd warden;
  UniqueFd archiver;
};

Result<Programs> open_programs() {
  std::vector<std::string> directories;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  if (const char* const named = std::getenv("GLOVEBOX_WARDEN"); named != nullptr) {
    const std::string warden(named);
    const std::size_t slash = warden.rfind('/');
    directories = {slash == std::string::npos ? "." : warden.substr(0, slash)};
  } else {
    std::array<char, 4096> self{};
    const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
    if (size <= 0) {
      return Error::from_errno("read /proc/self/exe").with_hint("mount /proc");
    }
    const std::string program(self.data(), static_cast<std::size_t>(size));
    const std::string directory = program.substr(0, program.rfind('/'));
    directories = {directory, directory + "/../libexec/glovebox", "/usr/libexec/glovebox"};
  }
  for (const std::string& directory : directories) {
    Programs programs{
        UniqueFd(::open((directory + "/" + kWarden).c_str(), O_RDONLY | O_CLOEXEC)),
        UniqueFd(::open((directory + "/" + kArchiver).c_str(), O_RDONLY | O_CLOEXEC))};
    if (programs.warden && programs.archiver) {
      return programs;
    }
  }
  return Error(ErrorCode::kUnsupported,
               std::string(kWarden) + " and " + kArchiver + " are not in " + directories.front(),
               "install both there or in /usr/libexec/glovebox, or name the warden in "
               "GLOVEBOX_WARDEN, with the archiver beside it");
}

// Whether this process could be dumped before its first sandbox.
int dumpable_at_first() {
  static const int kDumpable = ::prctl(PR_GET_DUMPABLE);
  return kDumpable;
}

}  // namespace

Result<InnerPrograms> inner_programs() {
  static const Result<Programs> kPrograms = open_programs();
  if (!kPrograms) {
    return kPrograms.error();
  }
  return InnerPrograms{kPrograms->warden.get(), kPrograms->archiver.get()};
}

Result<Cloned> clone_into(child::Plan& plan,
                          SetupStacks& stacks,
                          std::uint64_t flags,
                          int cgroup_fd) {
  int pidfd = -1;
  abi::CloneArgs arguments{};
  arguments.flags = flags | CLONE_PIDFD | CLONE_VM;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uint64_t>(stacks.main.data());
  arguments.stack_size = stacks.main.size();
  if (cgroup_fd >= 0) {
    arguments.flags |= abi::kCloneIntoCgroup;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  (void)dumpable_at_first();
  plan.network_stack_top = stacks.network.data() + stacks.network.size();
  plan.cloned_at_ns =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  const long pid = sys::clone3_on_stack(arguments, &child::enter, &plan);
  if (pid < 0) {
    return Error::from_errno("clone", static_cast<int>(-pid));
  }
  return Cloned{.pid = static_cast<pid_t>(pid), .pidfd = UniqueFd(pidfd)};
}

void restore_dumpable() { (void)::prctl(PR_SET_DUMPABLE, dumpable_at_first()); }

Unborn::~Unborn() {
  if (child_.pidfd) {
    (void)sys::raw(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
    siginfo_t info{};
    (void)::waitid(P_PIDFD, static_cast<id_t>(child_.pidfd.get()), &info, WEXITED);
    restore_dumpable();
  }
}

Result<void> admit(int control_fd, std::span<const int> cgroup_tasks) {
  GB_CHECK(cgroup_tasks.size() <= child::kMaxTaskFiles);
  char go = 1;
  iovec part{&go, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(child::kMaxTaskFiles * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!cgroup_tasks.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(cgroup_tasks.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(cgroup_tasks.size_bytes());
    std::memcpy(CMSG_DATA(header), cgroup_tasks.data(), cgroup_tasks.size_bytes());
  }
  // EPIPE: it has failed before, and its report says of what.
  if (::sendmsg(control_fd, &message, MSG_NOSIGNAL) != 1 && errno != EPIPE) {
    return Error::from_errno("admit the child to its cgroup");
  }
  return {};
}

int landlock_abi() {
  static const long kAbi =
      sys::raw(SYS_landlock_create_ruleset, nullptr, 0, abi::kLandlockCreateRulesetVersion);
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
