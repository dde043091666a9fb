// SPDX-License-Identifier: Apache-2.0
#include "warden/starter.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "spec/guest.h"

namespace glovebox::warden {
namespace {

// Everything that the new process needs, made before it exists: it runs in our memory until its
// exec and may only make system calls.
struct Start {
  int program_fd = -1;                  // What to execute, or, when negative,
  std::vector<std::string> candidates;  // the paths to try, in the order of PATH.
  std::vector<char*> argv;
  std::vector<char*> env;
  std::string cwd = ".";
  std::array<int, 4> stdio{};
  bool terminal = false;  // `stdio` is a terminal to be controlled by.
  struct Limit {
    int resource;
    rlimit64 value;
  };
  std::vector<Limit> limits;
  int file_walls = -1;  // A Landlock rule set; negative: none.
  std::span<const sock_filter> filter;
  Pids pids = Pids::kOwn;
  Guests guests = Guests::kUser;
  long error = 0;
};

std::vector<std::string> find_candidates(const std::string& program,
                                         const std::vector<std::string>& env) {
  if (program.find('/') != std::string::npos) {
    return {program};
  }
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& variable : env) {
    if (variable.starts_with("PATH=")) {
      path = std::string_view(variable).substr(5);
    }
  }
  std::vector<std::string> candidates;
  while (!path.empty()) {
    const std::size_t colon = path.find(':');
    candidates.push_back(std::string(path.substr(0, colon)) + "/" + program);
    path = colon == std::string_view::npos ? std::string_view{} : path.substr(colon + 1);
  }
  return candidates;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    result.push_back(const_cast<char*>(text.data()));  // execve(2) does not write to them.
  }
  result.push_back(nullptr);
  return result;
}

// Resets what the warden has changed for itself and an exec would keep.
long reset_signals() {
  struct {
    void* handler = nullptr;
    unsigned long flags = 0;
    void* restorer = nullptr;
    std::uint64_t mask = 0;
  } const by_default;
  (void)sys::raw(SYS_rt_sigaction, SIGPIPE, &by_default, nullptr, 8);
  const std::uint64_t none = 0;
  return sys::raw(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, 8);
}

// Without a pid namespace a guest could signal the warden: from a domain of its own it reaches only
// what it has started itself (Landlock ABI 6, Linux 6.12).
long leave_wardens_domain() {
  const abi::LandlockRulesetAttr attributes{.scoped =
                                                abi::kScopeSignal | abi::kScopeAbstractUnixSocket};
  const long ruleset = sys::raw(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  return ruleset < 0 ? ruleset : sys::raw(SYS_landlock_restrict_self, ruleset, 0);
}

// What a root guest executes gets what we pass on, and the bounding set (capabilities(7)).
long pass_no_capability_on() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (const long r = sys::raw(SYS_capget, &header, data.data()); r < 0) {
    return r;
  }
  data[0].inheritable = 0;
  data[1].inheritable = 0;
  return sys::raw(SYS_capset, &header, data.data());
}

// For good: what is left of the warden's own user is nobody's any more.
long become_guest() {
  const long r = sys::raw(SYS_setresgid, kGuestGid, kGuestGid, kGuestGid);
  return r < 0 ? r : sys::raw(SYS_setresuid, kGuestUid, kGuestUid, kGuestUid);
}

// gVisor refuses an end beyond its largest int.
long close_on_exec_from(unsigned first) {
  const long r = sys::raw(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC);
  return r == -EINVAL ? sys::raw(SYS_close_range, first, ~0U >> 1, CLOSE_RANGE_CLOEXEC) : r;
}

long execute(const Start& start) {
  if (start.program_fd >= 0) {
    return sys::raw(SYS_execveat, start.program_fd, "", start.argv.data(), start.env.data(),
                    AT_EMPTY_PATH);
  }
  long result = -ENOENT;
  for (const std::string& candidate : start.candidates) {
    const long r = sys::raw(SYS_execve, candidate.c_str(), start.argv.data(), start.env.data());
    // As execvp(3): a later directory may have what this one refuses or lacks.
    if (r == -EACCES || result == -ENOENT) {
      result = r;
    }
    if (r != -ENOENT && r != -ENOTDIR && r != -EACCES) {
      return r;
    }
  }
  return result;
}

long become(const Start& start) {
  (void)sys::raw(SYS_setsid);
  if (const long r = reset_signals(); r < 0) {
    return r;
  }
  if (start.pids == Pids::kShared) {
    // If the warden is killed after all, from outside, its guests do not stay.
    (void)sys::raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (const long r = leave_wardens_domain(); r < 0) {
      return r;
    }
  }
  // Descriptors 0 to 3 are the warden's own, so none of `stdio` lies where another one goes.
  unsigned first_closed = 0;
  for (const int from : start.stdio) {
    if (from >= 0) {
      if (const long r = sys::raw(SYS_dup2, from, first_closed); r < 0) {
        return r;
      }
      ++first_closed;
    }
  }
  // Ours is a new session's leader: nothing else can have the terminal yet (ioctl_tty(2)).
  if (start.terminal) {
    if (const long r = sys::raw(SYS_ioctl, 0, TIOCSCTTY, 0); r < 0) {
      return r;
    }
  }
  if (const long r = close_on_exec_from(first_closed); r < 0) {
    return r;
  }
  if (const long r = sys::raw(SYS_chdir, start.cwd.c_str()); r < 0) {
    return r;
  }
  for (const Start::Limit& limit : start.limits) {
    if (const long r = sys::raw(SYS_prlimit64, 0, limit.resource, &limit.value, nullptr); r < 0) {
      return r;
    }
  }
  if (start.guests == Guests::kRoot) {
    if (const long r = pass_no_capability_on(); r < 0) {
      return r;
    }
  }
  if (start.guests == Guests::kOtherUser) {
    if (const long r = become_guest(); r < 0) {
      return r;
    }
  }
  if (start.file_walls >= 0) {
    if (const long r = sys::raw(SYS_landlock_restrict_self, start.file_walls, 0); r < 0) {
      return r;
    }
  }
  if (!start.filter.empty()) {
    const struct {
      unsigned short length;
      const sock_filter* filter;
    } program = {static_cast<unsigned short>(start.filter.size()), start.filter.data()};
    if (const long r = sys::raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program); r < 0) {
      return r;
    }
  }
  if (start.program_fd >= 0) {
    // A program of ours gains nothing, and so may put itself under a filter of its own.
    if (const long r = sys::raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); r < 0) {
      return r;
    }
  }
  return execute(start);
}

[[noreturn]] void run_start(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  start.error = -become(start);
  for (;;) {
    (void)sys::raw(SYS_exit, 127);
  }
}

void add_limit(Start& start, int resource, std::uint64_t soft, std::uint64_t hard) {
  if (soft > 0) {
    start.limits.push_back({resource, rlimit64{soft, hard}});
  }
}

// How long a start may take: the exec reads a program from the disk. A guest can stop a process
// with its user id between clone and exec, for as long as it likes.
constexpr int kStartPatienceMs = 10'000;

// Waits until nobody but us has the other end of the pipe any more.
bool wait_for_exec(const UniqueFd& started) {
  pollfd polled{started.get(), POLLIN, 0};
  int ready = -1;
  do {
    ready = ::poll(&polled, 1, kStartPatienceMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Started spawn(Start& start) {
  // A stack of its own, because it runs in our memory until its exec.
  alignas(16) static std::array<char, 16 * 1024> stack;
  // Closed by the exec, or by the end: both only when our memory is not in use any more (fs/exec.c,
  // begin_new_exec; kernel/exit.c, do_exit). Not CLONE_VFORK, which waits without a limit.
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {.start_error = errno};
  }
  const UniqueFd started(ends[0]);
  UniqueFd inherited(ends[1]);
  const long pid =
      sys::clone_on_stack(CLONE_VM | SIGCHLD, stack.data() + stack.size(), run_start, &start);
  if (pid < 0) {
    return {.start_error = static_cast<int>(-pid)};
  }
  inherited.reset();
  if (!wait_for_exec(started)) {
    (void)::kill(static_cast<pid_t>(pid), SIGKILL);
    // `start` and the stack are its own until it has ended. A process that a signal has killed ends
    // unless the kernel hangs, and then this sandbox does not matter any more.
    while (!wait_for_exec(started)) {
    }
    return {.start_error = ETIMEDOUT};
  }
  if (start.error != 0) {
    return {.start_error = static_cast<int>(start.error)};
  }
  return {.pid = static_cast<pid_t>(pid)};
}

std::array<int, 4> descriptors(const GuestStdio& stdio) {
  if (const int terminal = stdio.terminal.get(); terminal >= 0) {
    return {terminal, terminal, terminal, -1};
  }
  return {stdio.in.get(), stdio.out.get(), stdio.err.get(), stdio.channel.get()};
}

}  // namespace

Started Starter::start(const StartRequest& request,
                       const GuestStdio& stdio,
                       const UniqueFd& file_walls) const {
  if (request.argv.empty()) {
    return {.start_error = EINVAL};
  }
  Start start;
  start.candidates = find_candidates(request.argv.front(), request.env);
  start.argv = pointers(request.argv);
  start.env = pointers(request.env);
  if (!request.cwd.empty()) {
    start.cwd = request.cwd;
  }
  start.stdio = descriptors(stdio);
  start.terminal = static_cast<bool>(stdio.terminal);
  add_limit(start, RLIMIT_NOFILE, request.open_files, request.open_files);
  // The hard limit kills what ignores SIGXCPU.
  add_limit(start, RLIMIT_CPU, request.cpu_seconds, request.cpu_seconds + 1);
  add_limit(start, RLIMIT_NPROC, request.processes, request.processes);
  add_limit(start, RLIMIT_DATA, request.data_size, request.data_size);
  add_limit(start, RLIMIT_FSIZE, request.file_size, request.file_size);
  std::vector<sock_filter> filter(request.filter.size() / sizeof(sock_filter));
  if (!filter.empty()) {
    std::memcpy(filter.data(), request.filter.data(), filter.size() * sizeof(sock_filter));
  }
  start.filter = filter;
  start.file_walls = file_walls.get();
  start.pids = pids_;
  start.guests = guests_;
  return spawn(start);
}

Started Starter::start_own(int program_fd,
                           const std::vector<std::string>& argv,
                           const GuestStdio& stdio) const {
  Start start;
  start.program_fd = program_fd;
  start.argv = pointers(argv);
  start.env = pointers({});
  start.stdio = descriptors(stdio);
  start.pids = pids_;
  start.guests = guests_;
  return spawn(start);
}

void Starter::kill_everything() const { signal_everything(SIGKILL); }

void Starter::signal_everything(int signal) const {
  // Spares the caller (kill(2)). In a pid namespace it reaches what is in it; elsewhere the
  // Landlock domain that we were born in keeps it inside.
  (void)::kill(-1, signal);
}

}  // namespace glovebox::warden
