// SPDX-License-Identifier: Apache-2.0
#include "sandbox/birth.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "sandbox/guest_ids.h"

namespace glovebox {
namespace {

// A birth in namespaces that are not ours. It takes up to two helpers, which leave the child to us
// as our own (CLONE_PARENT) and share our descriptors:
//   - The first enters the realm. As root it lives in our memory, and maps the child's ids, which
//     needs a process in the realm that /proc still takes for root. Without ids to give nobody can
//     map an undumpable child, so the first helper is a copy of us: outside realms, where nobody
//     below sees it, it becomes dumpable while it makes and maps the user namespace.
//   - Entering a pid namespace counts for children only (setns(2)), and one cannot be made below it
//     from outside. So in a realm a second helper is born there, and makes the child.
// All of this is in memory that copies share.
struct Descent {
  const Birthplace& where;
  child::Plan& plan;
  std::byte* stack_top;  // Of the second helper.
  abi::CloneArgs arguments{};
  bool gives_ids = false;  // Gives ids that are not ours (sandbox/guest_ids.h).
  int pidfd = -1;          // The child's.
  int second_pidfd = -1;   // The second helper's.
  // The kernel sets each once the process has been made, before it runs. A helper that is killed
  // while it makes one leaves the number of a pidfd that was never opened, and that may be another
  // descriptor by now.
  pid_t child = 0;
  pid_t second = 0;
  long result = -ECANCELED;  // Zero, or the negative errno of what failed.
};

// How long the second helper may take: in a realm, other processes of its user may stop it.
constexpr timespec kHelperPatience{.tv_sec = 10, .tv_nsec = 0};

GB_NO_SANITIZER [[noreturn]] void leave_helper() {
  for (;;) {
    (void)sys::raw(SYS_exit, 0);
  }
}

// A short path below /proc, put together without libc.
class ProcPath {
 public:
  GB_NO_SANITIZER ProcPath& add(const char* text) {
    while (*text != '\0') {
      bytes_[size_++] = *text++;
    }
    return *this;
  }
  GB_NO_SANITIZER ProcPath& add(long number) {
    if (number >= 10) {
      (void)add(number / 10);
    }
    bytes_[size_++] = static_cast<char>('0' + number % 10);
    return *this;
  }
  [[nodiscard]] GB_NO_SANITIZER const char* text() const { return bytes_; }

 private:
  char bytes_[64] = {};  // NOLINT(modernize-avoid-c-arrays): indexed without a call.
  unsigned size_ = 0;
};

GB_NO_SANITIZER long write_file(const char* path, std::string_view text) {
  const long fd = sys::raw(SYS_open, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    return fd;
  }
  const long written = sys::raw(SYS_write, fd, text.data(), text.size());
  (void)sys::raw(SYS_close, fd);
  return written < 0 ? written : 0;
}

// The number by which our /proc knows the process of a pidfd, or a negative errno.
GB_NO_SANITIZER long number_of(int pidfd) {
  const long fd = sys::raw(SYS_open, ProcPath().add("/proc/self/fdinfo/").add(pidfd).text(),
                           O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return fd;
  }
  char text[512] = {};  // NOLINT(modernize-avoid-c-arrays)
  const long size = sys::raw(SYS_read, fd, text, sizeof text - 1);
  (void)sys::raw(SYS_close, fd);
  // A line "Pid:\t123"; its number is 0 or -1 when the process is gone.
  for (long i = 0; i + 5 < size; ++i) {
    if (text[i] == '\n' && text[i + 1] == 'P' && text[i + 2] == 'i' && text[i + 3] == 'd' &&
        text[i + 4] == ':') {
      long number = 0;
      for (long at = i + 6; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
        number = number * 10 + (text[at] - '0');
      }
      return number > 0 ? number : -ESRCH;
    }
  }
  return -ESRCH;
}

GB_NO_SANITIZER long map_child(const Descent& descent) {
  const long pid = number_of(descent.pidfd);
  if (pid < 0) {
    return pid;
  }
  if (const long r = write_file(ProcPath().add("/proc/").add(pid).add("/gid_map").text(),
                                descent.where.gid_map);
      r < 0) {
    return r;
  }
  return write_file(ProcPath().add("/proc/").add(pid).add("/uid_map").text(),
                    descent.where.uid_map);
}

GB_NO_SANITIZER long make_own_user_namespace(const Descent& descent) {
  if (const long r = sys::raw(SYS_unshare, CLONE_NEWUSER); r < 0) {
    return r;
  }
  // Our memory is a copy, which nobody in a realm sees (see above).
  (void)sys::raw(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
  // "deny" comes first: the kernel wants it before an unprivileged gid map (user_namespaces(7)).
  long result = write_file("/proc/self/setgroups", "deny");
  if (result >= 0) {
    result = write_file("/proc/self/gid_map", descent.where.gid_map);
  }
  if (result >= 0) {
    result = write_file("/proc/self/uid_map", descent.where.uid_map);
  }
  (void)sys::raw(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
  return result;
}

GB_NO_SANITIZER long join_user_namespace(int user_namespace) {
  const long result = sys::raw(SYS_setns, user_namespace, CLONE_NEWUSER);
  (void)sys::raw(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
  return result;
}

GB_NO_SANITIZER void make_child(Descent& descent) {
  const long pid = sys::clone3_on_stack(descent.arguments, &child::enter, &descent.plan);
  descent.result = pid < 0 ? pid : 0;
}

// The second helper.
GB_NO_SANITIZER [[noreturn]] void make_child_in_realm(void* argument) {
  auto& descent = *static_cast<Descent*>(argument);
  long result = 0;
  if (descent.gives_ids) {
    // The maker of a user namespace owns it. The other two ids stay root's, so that nobody in the
    // realm may signal us (kill(2)).
    const uid_t owner = descent.where.realm->uid;
    result = sys::raw(SYS_setresgid, -1, owner, -1);
    if (result >= 0) {
      result = sys::raw(SYS_setresuid, -1, owner, -1);
    }
  }
  if (result < 0) {
    descent.result = result;
  } else {
    make_child(descent);
  }
  leave_helper();
}

GB_NO_SANITIZER void await_second(Descent& descent) {
  struct {
    int fd;
    short events;
    short revents;
  } polled = {descent.second_pidfd, POLLIN, 0};
  timespec left = kHelperPatience;
  if (sys::raw(SYS_ppoll, &polled, 1, &left, nullptr, 0) == 0) {
    (void)sys::raw(SYS_pidfd_send_signal, descent.second_pidfd, SIGKILL, nullptr, 0);
    (void)sys::raw(SYS_ppoll, &polled, 1, nullptr, nullptr, 0);
    descent.result = -ETIMEDOUT;
  }
  const int closing = descent.second_pidfd;
  descent.second_pidfd = -1;
  (void)sys::raw(SYS_close, closing);
}

GB_NO_SANITIZER long enter_realm(const Realm& realm) {
  if (const long r = sys::raw(SYS_setns, realm.user_ns.get(), CLONE_NEWUSER); r < 0) {
    return r;
  }
  return sys::raw(SYS_setns, realm.pid_ns.get(), CLONE_NEWPID);
}

GB_NO_SANITIZER long descend(Descent& descent) {
  const Realm* const realm = descent.where.realm;
  if (realm != nullptr) {
    if (const long r = enter_realm(*realm); r < 0) {
      return r;
    }
  }
  if (!descent.gives_ids) {
    const int made = descent.where.user_namespace;
    const long r = made < 0 ? make_own_user_namespace(descent) : join_user_namespace(made);
    if (r < 0) {
      return r;
    }
    descent.arguments.flags &= ~static_cast<std::uint64_t>(CLONE_NEWUSER);
  }
  if (realm == nullptr) {
    make_child(descent);
    return descent.result;
  }
  abi::CloneArgs second{};
  second.flags = CLONE_VM | CLONE_FILES | CLONE_PARENT | CLONE_PIDFD | CLONE_PARENT_SETTID;
  second.pidfd = reinterpret_cast<std::uint64_t>(&descent.second_pidfd);
  second.parent_tid = reinterpret_cast<std::uint64_t>(&descent.second);
  constexpr std::size_t kStack = sizeof(SetupStacks::descent) / 2;
  second.stack = reinterpret_cast<std::uint64_t>(descent.stack_top - kStack);
  second.stack_size = kStack;
  if (const long r = sys::clone3_on_stack(second, make_child_in_realm, &descent); r < 0) {
    return r;
  }
  await_second(descent);
  return descent.result < 0 || !descent.gives_ids ? descent.result : map_child(descent);
}

// The first helper.
GB_NO_SANITIZER [[noreturn]] void go_down(void* argument) {
  auto& descent = *static_cast<Descent*>(argument);
  descent.result = descend(descent);
  leave_helper();
}

}  // namespace

Result<Cloned> clone_by_helpers(child::Plan& plan,
                                SetupStacks& stacks,
                                abi::CloneArgs arguments,
                                const Birthplace& where) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): MAP_FAILED.
  void* const shared =
      ::mmap(nullptr, sizeof(Descent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    return Error::from_errno("mmap");
  }
  Descent& descent =
      *new (shared) Descent{.where = where,
                            .plan = plan,
                            .stack_top = stacks.descent.data() + stacks.descent.size()};
  descent.gives_ids = guest_ids().has_value();
  // The child inherits the cgroup of the first helper, which is still who we are: in the realm
  // nobody may write to a group of ours, and clone3(2) asks the one who clones.
  abi::CloneArgs helper{};
  helper.flags = CLONE_VFORK | CLONE_FILES | (arguments.flags & abi::kCloneIntoCgroup);
  if (descent.gives_ids) {
    helper.flags |= CLONE_VM;
  }
  helper.exit_signal = SIGCHLD;
  helper.cgroup = arguments.cgroup;
  helper.stack = reinterpret_cast<std::uint64_t>(stacks.descent.data());
  helper.stack_size = stacks.descent.size() / 2;
  arguments.flags = (arguments.flags & ~abi::kCloneIntoCgroup) | CLONE_PARENT | CLONE_PARENT_SETTID;
  arguments.cgroup = 0;
  arguments.exit_signal = 0;  // Its maker's, with CLONE_PARENT.
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&descent.pidfd);
  arguments.parent_tid = reinterpret_cast<std::uint64_t>(&descent.child);
  descent.arguments = arguments;
  const long first = sys::clone3_on_stack(helper, go_down, &descent);
  int ended = 0;
  if (first > 0) {
    (void)::waitpid(static_cast<pid_t>(first), &ended, 0);
  }
  if (descent.second > 0) {
    // Both live in our memory, which the second must not outlive. Until we wait for the second, it
    // is also a process that keeps the realm from ending.
    if (WIFSIGNALED(ended)) {
      (void)::kill(descent.second, SIGKILL);
    }
    (void)::waitpid(descent.second, nullptr, 0);
  }
  const UniqueFd left_open(descent.second > 0 ? descent.second_pidfd : -1);
  Cloned child{.pid = 0, .pidfd = UniqueFd(descent.child > 0 ? descent.pidfd : -1)};
  const long result = first < 0 ? first : descent.result;
  (void)::munmap(shared, sizeof(Descent));
  if (result < 0) {
    const Unborn half_made(std::move(child));
    return Error::from_errno("clone into namespaces", static_cast<int>(-result));
  }
  return child;
}

}  // namespace glovebox
