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
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/sys/descriptors.h"
#include "base/sys/installation.h"
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
  return Error(ErrorCode::kUnsupported,
               std::string(kWarden) + " and " + kArchiver + " are not in " + directories.front(),
               "install both there or in /usr/libexec/glovebox, or name the warden in "
               "GLOVEBOX_WARDEN, with the archiver beside it");
}

// The way down into a realm. Entering a pid namespace counts for children only (setns(2)), and one
// cannot be made below it from outside, so it takes two helpers: the first enters both namespaces,
// the second is born in them and makes the child. Both share our memory and our descriptors, and
// leave us the child as our own (CLONE_PARENT).
struct Descent {
  const Realm& realm;
  uid_t owner;
  const abi::CloneArgs& arguments;
  child::Plan& plan;
  void* stack_top;
  long second = 0;
  long result = -ECANCELED;
};

GB_NO_SANITIZER [[noreturn]] void leave_helper() {
  for (;;) {
    (void)sys::raw(SYS_exit, 0);
  }
}

GB_NO_SANITIZER [[noreturn]] void make_child_in_realm(void* argument) {
  auto& descent = *static_cast<Descent*>(argument);
  descent.result = sys::clone3_on_stack(descent.arguments, &child::enter, &descent.plan);
  leave_helper();
}

GB_NO_SANITIZER long enter_realm(Descent& descent) {
  if (const long r = sys::raw(SYS_setns, descent.realm.user_ns.get(), CLONE_NEWUSER); r < 0) {
    return r;
  }
  if (const long r = sys::raw(SYS_setns, descent.realm.pid_ns.get(), CLONE_NEWPID); r < 0) {
    return r;
  }
  if (descent.owner != 0) {
    // The child may then map itself: a single id, that of its maker.
    if (const long r = sys::raw(SYS_setresgid, descent.owner, descent.owner, descent.owner);
        r < 0) {
      return r;
    }
    if (const long r = sys::raw(SYS_setresuid, descent.owner, descent.owner, descent.owner);
        r < 0) {
      return r;
    }
  }
  return 0;
}

GB_NO_SANITIZER [[noreturn]] void go_down(void* argument) {
  auto& descent = *static_cast<Descent*>(argument);
  if (const long r = enter_realm(descent); r < 0) {
    descent.result = r;
    leave_helper();
  }
  descent.second = sys::clone_on_stack(CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PARENT,
                                       descent.stack_top, make_child_in_realm, &descent);
  if (descent.second < 0) {
    descent.result = descent.second;
  }
  leave_helper();
}

// Answers an errno, or zero.
int clone_in_realm(child::Plan& plan,
                   SetupStacks& stacks,
                   abi::CloneArgs arguments,
                   const Birthplace& where) {
  arguments.flags |= CLONE_PARENT;
  arguments.exit_signal = 0;  // Its maker's, with CLONE_PARENT.
  // The child inherits the cgroup of the first helper, which is still who we are: in the realm
  // nobody may write to a group of ours, and clone3(2) asks the one who clones.
  abi::CloneArgs helper{};
  helper.flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | (arguments.flags & abi::kCloneIntoCgroup);
  helper.exit_signal = SIGCHLD;
  helper.cgroup = arguments.cgroup;
  arguments.flags &= ~abi::kCloneIntoCgroup;
  arguments.cgroup = 0;
  // It is done with its half when the second begins.
  helper.stack = reinterpret_cast<std::uint64_t>(stacks.descent.data());
  helper.stack_size = stacks.descent.size() / 2;
  Descent descent{.realm = *where.realm,
                  .owner = where.owner,
                  .arguments = arguments,
                  .plan = plan,
                  .stack_top = stacks.descent.data() + stacks.descent.size()};
  const long first = sys::clone3_on_stack(helper, go_down, &descent);
  if (first < 0) {
    return static_cast<int>(-first);
  }
  for (const long pid : {first, descent.second}) {
    if (pid > 0) {
      (void)::waitpid(static_cast<pid_t>(pid), nullptr, 0);
    }
  }
  return descent.result < 0 ? static_cast<int>(-descent.result) : 0;
}

// Makes the calling thread of root's an effective user for its lifetime, with all its capabilities.
// Who makes a user namespace is charged for what is used in it (namespaces(7), kernel/ucount.c): so
// its guest gets the limits of a user of its own, not a share of root's. By system calls, because
// those of libc change every thread.
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
  (void)dumpable_at_first();
  plan.network_stack_top = stacks.network.data() + stacks.network.size();
  plan.cloned_at_ns =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  if (where.realm != nullptr) {
    if (const int error = clone_in_realm(plan, stacks, arguments, where); error != 0) {
      return Error::from_errno("clone in a realm", error);
    }
    return Cloned{.pid = 0, .pidfd = UniqueFd(pidfd)};
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
  // EPIPE: it has failed before, and its report says of what.
  if (sys::send_with(control_fd, "g", cgroup_tasks, 0) != 1 && errno != EPIPE) {
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
