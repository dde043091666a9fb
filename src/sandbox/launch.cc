// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch.h"

#include <fcntl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/sys/descriptors.h"
#include "base/sys/installation.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "base/sys/undumpable.h"
#include "sandbox/birth.h"
#include "sandbox/guest_ids.h"

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
    directories = GB_TRY(sys::installed_directories());
  }
  for (const std::string& directory : directories) {
    Programs programs{
        UniqueFd(::open((directory + "/" + kWarden).c_str(), O_RDONLY | O_CLOEXEC)),
        UniqueFd(::open((directory + "/" + kArchiver).c_str(), O_RDONLY | O_CLOEXEC))};
    if (programs.warden && programs.archiver) {
      return programs;
    }
  }
  return Error(
      ErrorCode::kUnsupported,
      std::string(kWarden) + " and " + kArchiver + " were not found in " + directories.front(),
      "install both there or in /usr/libexec/glovebox, or set GLOVEBOX_WARDEN to the "
      "warden's path, with the archiver next to it");
}

Result<void> write_map(pid_t pid, const char* file, std::string_view text) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) < 0) {
    return Error::from_errno("write " + path);
  }
  return {};
}

// Gives the calling thread, which is root's, another effective user for this object's lifetime, and
// keeps all its capabilities. The maker of a user namespace is charged for what is used in it
// (namespaces(7), kernel/ucount.c): so its guest gets the limits of a user of its own, not a share
// of root's. By system calls, because libc's functions change every thread.
class EffectiveUser {
 public:
  explicit EffectiveUser(uid_t uid) {
    (void)sys::raw(SYS_prctl, PR_SET_SECUREBITS, securebits_ | SECBIT_NO_SETUID_FIXUP);
    changed_ = sys::raw(SYS_setresuid, -1, uid, -1) >= 0;
  }
  ~EffectiveUser() {
    if (changed_) {
      GB_CHECK(sys::raw(SYS_setresuid, -1, 0, -1) == 0);
    }
    (void)sys::raw(SYS_prctl, PR_SET_SECUREBITS, securebits_);
  }
  EffectiveUser(const EffectiveUser&) = delete;
  EffectiveUser& operator=(const EffectiveUser&) = delete;

 private:
  long securebits_ = sys::raw(SYS_prctl, PR_GET_SECUREBITS);
  bool changed_ = false;
};

}  // namespace

Result<InnerPrograms> inner_programs() {
  static const Result<Programs> kPrograms = open_programs();
  if (!kPrograms) {
    return kPrograms.error();
  }
  return InnerPrograms{kPrograms->warden.get(), kPrograms->archiver.get()};
}

Result<Cloned> clone_into(child::Plan& plan, SetupStacks& stacks, const Birthplace& where) {
  int pidfd = -1;
  abi::CloneArgs arguments{};
  arguments.flags = where.flags | CLONE_PIDFD | CLONE_VM;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uint64_t>(stacks.main.data());
  arguments.stack_size = stacks.main.size();
  if (where.cgroup_fd >= 0) {
    arguments.flags |= abi::kCloneIntoCgroup;
    arguments.cgroup = static_cast<std::uint64_t>(where.cgroup_fd);
  }
  plan.network_stack_top = stacks.network.data() + stacks.network.size();
  plan.clear_handlers = !sys::has_clone3();
  const UniqueFd ourselves = GB_TRY(own_pidfd());
  plan.maker_fd = ourselves.get();
  plan.cloned_at_ns =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  sys::become_undumpable();
  GB_CHECK(::prctl(PR_GET_DUMPABLE) != 1);
  const bool has_user_namespace = (where.flags & CLONE_NEWUSER) != 0;
  if (where.realm != nullptr || (has_user_namespace && !guest_ids())) {
    return clone_by_helpers(plan, stacks, arguments, where);
  }
  std::optional<EffectiveUser> maker;
  if (where.charged_to != 0) {
    maker.emplace(where.charged_to);
  }
  const long pid = sys::clone3_on_stack(arguments, &child::enter, &plan);
  maker.reset();
  if (pid < 0) {
    return Error::from_errno("clone", static_cast<int>(-pid));
  }
  Unborn child({.pid = static_cast<pid_t>(pid), .pidfd = UniqueFd(pidfd)});
  if (has_user_namespace) {
    GB_TRY(write_map(child.pid(), "gid_map", where.gid_map));
    GB_TRY(write_map(child.pid(), "uid_map", where.uid_map));
  }
  return Cloned{.pid = child.pid(), .pidfd = child.keep()};
}

Result<UniqueFd> own_pidfd() {
  const long fd = sys::raw(SYS_pidfd_open, ::getpid(), 0);
  if (fd < 0) {
    return Error::from_errno("pidfd_open", static_cast<int>(-fd));
  }
  return UniqueFd(static_cast<int>(fd));
}

Unborn::~Unborn() {
  if (child_.pidfd) {
    (void)sys::raw(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
    siginfo_t info{};
    (void)::waitid(P_PIDFD, static_cast<id_t>(child_.pidfd.get()), &info, WEXITED);
  }
}

Result<void> admit(int control_fd, std::span<const int> cgroup_tasks) {
  GB_CHECK(cgroup_tasks.size() <= child::kMaxTaskFiles);
  // EPIPE: the child has failed before, and its report says why.
  if (sys::send_with(control_fd, "g", cgroup_tasks, 0) != 1 && errno != EPIPE) {
    return Error::from_errno("move the child into its cgroup");
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
