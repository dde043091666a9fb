// SPDX-License-Identifier: Apache-2.0
// From clone to exec, as one straight line. The order is what makes it safe:
//   - the file system (root.h) while we still hold the capabilities of our user namespace; beside
//     it, on other processors, a helper makes the network namespace and the parent the cgroup;
//   - the limits before anything of the guest's runs;
//   - then the capabilities go, for good, or all but root's;
//   - Landlock and seccomp last, so that they need not allow any step above.
// Nothing here may allocate, lock, or use thread-local storage (see plan.h).
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "sandbox/child/confine.h"
#include "sandbox/child/crossing.h"
#include "sandbox/child/hand_out.h"
#include "sandbox/child/own_network.h"
#include "sandbox/child/plan.h"
#include "sandbox/child/report.h"
#include "sandbox/child/root.h"

namespace glovebox::child {
namespace {

using sys::raw;

constexpr int kControl = 3;  // The warden's end of the control socket, by agreement.
constexpr int kArchiver = 4;
constexpr int kWarden = 5;       // Its program, until the exec.
constexpr int kWardenFiles = 6;  // The first of them.

class Entrance {
 public:
  explicit Entrance(const Plan& plan) noexcept
      : plan_(plan),
        report_(plan.control_fd, plan.cloned_at_ns),
        network_(plan),
        root_(plan, detail_) {}

  [[noreturn]] void run() noexcept {
    if (plan_.clear_handlers) {
      sys::signals_by_default();
    }
    step(SetupStep::kIdentity, [this] { return become_guest(); });
    if (plan_.network_namespace) {
      network_.start();
    }
    if (plan_.own_root) {
      step(SetupStep::kRoot, [this] { return root_.make(); });
      step(SetupStep::kFiles, [this] { return root_.write_files(); });
      step(SetupStep::kMounts, [this] { return root_.bind_mounts(); });
      step(SetupStep::kProc, [this] { return root_.mount_proc(); });
      if (!plan_.realm) {
        step(SetupStep::kLockUserNamespaces, [this] { return root_.lock_user_namespaces(); });
      }
      step(SetupStep::kEnterRoot, [this] { return root_.enter(); });
    }
    if (plan_.network_namespace) {
      step(SetupStep::kNetwork, [this] { return network_.join(); });
    }
    step(SetupStep::kCgroup, [this] { return join_cgroups(); });
    step(SetupStep::kPrivileges, [this] { return drop_privileges(); });
    if (plan_.landlock.abi > 0) {
      step(SetupStep::kLandlock, [this] { return restrict_to_rules(); });
    }
    if (!plan_.filter.empty()) {
      step(SetupStep::kSeccomp, [this] { return filter_calls(); });
    }
    report_.send(SetupStep::kNone, 0, 0);
    constexpr std::array<const char*, 1> kNoEnvironment = {nullptr};
    fail(SetupStep::kExec,
         raw(SYS_execveat, kWarden, "", plan_.warden_argv, kNoEnvironment.data(), AT_EMPTY_PATH));
  }

 private:
  // A step returns zero or a negative errno; `detail_` then says which of several parts it was.
  template <typename Part>
  void step(SetupStep which, Part part) noexcept {
    detail_ = 0;
    const long result = part();
    if (result < 0) {
      fail(which, result);
    }
    report_.done(which);
  }

  [[noreturn]] void fail(SetupStep which, long result) noexcept {
    report_.send(which, static_cast<int>(-result), detail_);
    for (;;) {
      (void)raw(SYS_exit_group, 127);
    }
  }

  // The parent sends one byte and the `tasks` files of our cgroups (v1). Writing "0" moves the
  // writing thread alone and, unlike any other move, does not wait for an RCU grace period
  // (kernel/cgroup/cgroup.c, cgroup_procs_write_start: no lock for "0" without threadgroup).
  long join_cgroups() noexcept {
    if (const long r = await_word(plan_.control_fd, plan_.maker_fd); r < 0) {
      return r;
    }
    char go = 0;
    std::array<int, kMaxTaskFiles> tasks{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof tasks)> control{};
    iovec part{&go, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const long got = raw(SYS_recvmsg, plan_.control_fd, &message, MSG_CMSG_CLOEXEC);
    if (got != 1 || (message.msg_flags & MSG_CTRUNC) != 0) {
      return got < 0 ? got : -ECANCELED;
    }
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
      const std::size_t size = header->cmsg_len - CMSG_LEN(0);
      __builtin_memcpy(tasks.data(), CMSG_DATA(header), size);
      for (std::size_t i = 0; i < size / sizeof(int); ++i) {
        const long written = raw(SYS_write, tasks[i], "0", 1);
        if (written < 0) {
          return written;
        }
        ++detail_;
      }
    }
    // After the moves, so that the namespace's root is the sandbox's own group.
    return plan_.user_namespace ? raw(SYS_unshare, CLONE_NEWCGROUP) : 0;
  }

  long become_guest() noexcept {
    if (plan_.awaits_maps) {
      if (const long r = await_maker(plan_.control_fd, plan_.maker_fd); r < 0) {
        return r;
      }
    }
    if (plan_.locks_privileges) {
      const long r = lock_privileges();
      const bool stays_root = plan_.uid == 0;
      if (r < 0 && !(r == -EPERM && stays_root)) {
        return r;
      }
    }
    if (plan_.awaits_maps || (!plan_.user_namespace && plan_.uid != 0)) {
      if (const long r = become(plan_.uid, plan_.gid); r < 0) {
        return r;
      }
    }
    (void)raw(SYS_umask, 022);
    return plan_.own_root || plan_.workspace == nullptr ? 0 : raw(SYS_chdir, plan_.workspace);
  }

  long drop_privileges() noexcept {
    leave_session();
    constexpr std::array<int, 4> kNone = {RLIMIT_CORE, RLIMIT_MSGQUEUE, RLIMIT_RTPRIO, RLIMIT_NICE};
    for (const int resource : kNone) {
      const rlimit64 zero{0, 0};
      (void)raw(SYS_prlimit64, 0, resource, &zero, nullptr);
    }
    // Pending signals and timers count for the maker of the namespace, as above.
    constexpr rlimit64 kSignals{1024, 1024};
    (void)raw(SYS_prlimit64, 0, RLIMIT_SIGPENDING, &kSignals, nullptr);
    if (const long r = arrange_descriptors(); r < 0) {
      return r;
    }
    if (plan_.is_root()) {
      return limit_privileges(plan_.kept_capabilities);
    }
    if (plan_.user_namespace) {
      if (const long r = lock_privileges(); r < 0) {
        return r;
      }
    }
    if (const long r = drop_capabilities(); r < 0) {
      return r;
    }
    return raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  }

  // Standard streams on /dev/null, control socket, warden program; nothing else survives.
  long arrange_descriptors() noexcept {
    // Moved out of the way first, so that no dup2 below closes what a later one needs.
    const long control = raw(SYS_fcntl, plan_.control_fd, F_DUPFD_CLOEXEC, 16);
    const long warden = raw(SYS_fcntl, plan_.warden_fd, F_DUPFD_CLOEXEC, 16);
    const long archiver = raw(SYS_fcntl, plan_.archiver_fd, F_DUPFD_CLOEXEC, 16);
    const long null = raw(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
    const bool watched = plan_.listener_to >= 0;
    const long listener_to =
        watched ? raw(SYS_fcntl, plan_.listener_to, F_DUPFD_CLOEXEC, 16) : -ENOENT;
    for (const long fd : {control, warden, archiver, null, watched ? listener_to : 0}) {
      if (fd < 0) {
        return fd;
      }
    }
    const std::span<long> warden_files = root_.warden_files();
    for (long& file : warden_files) {
      file = raw(SYS_fcntl, file, F_DUPFD_CLOEXEC, 16);
      if (file < 0) {
        return file;
      }
    }
    for (int fd = 0; fd < 3; ++fd) {
      if (null != fd) {
        (void)raw(SYS_dup2, null, fd);
      }
    }
    if (const long r = raw(SYS_dup3, warden, kWarden, O_CLOEXEC); r < 0) {
      return r;
    }
    if (const long r = raw(SYS_dup2, archiver, kArchiver); r < 0) {
      return r;
    }
    if (const long r = raw(SYS_dup2, control, kControl); r < 0) {
      return r;
    }
    report_.speak_through(kControl);
    std::size_t first_closed = kWardenFiles;
    for (const long file : warden_files) {
      if (const long r = raw(SYS_dup2, file, first_closed); r < 0) {
        return r;
      }
      ++first_closed;
    }
    if (listener_to >= 0) {
      listener_to_ = raw(SYS_dup3, listener_to, first_closed, O_CLOEXEC);
      if (listener_to_ < 0) {
        return listener_to_;
      }
      ++first_closed;
    }
    return raw(SYS_close_range, first_closed, ~0U, 0);
  }

  long restrict_to_rules() noexcept {
    // Our own programs are outside the new root; only these inodes may be executed there.
    constexpr std::array<int, 2> kPrograms = {kWarden, kArchiver};
    return restrict_files(plan_.landlock, kPrograms, detail_);
  }

  long filter_calls() noexcept {
    if (const long r = listener_to_ >= 0 ? filter_watched() : install_filter(plan_.filter); r < 0) {
      return r;
    }
    for (int i = 0; i < plan_.spacers; ++i) {
      if (const long r = install_filter(plan_.spacer); r < 0) {
        return r;
      }
    }
    return plan_.more_filter.empty() ? 0 : install_filter(plan_.more_filter);
  }

  // If we are in somebody else's sandbox, whose filter has a listener or refuses listeners, the
  // same calls are refused and nobody is told.
  long filter_watched() noexcept {
    const long listener = install_watched_filter(plan_.watched_filter);
    if (listener < 0) {
      const long r = install_filter(plan_.filter);
      return r < 0 ? r : hand_out(listener_to_, {});
    }
    const std::array<int, 1> passed = {static_cast<int>(listener)};
    return hand_out(listener_to_, passed);
  }

  const Plan& plan_;
  Report report_;
  OwnNetwork network_;
  std::uint32_t detail_ = 0;
  Root root_;
  long listener_to_ = -1;  // plan_.listener_to, once descriptors are arranged.
};

}  // namespace

void enter(void* plan) noexcept { Entrance(*static_cast<const Plan*>(plan)).run(); }

}  // namespace glovebox::child
