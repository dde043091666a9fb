// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/gvisor/runsc.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "base/sys/start_process.h"
#include "base/sys/undumpable.h"
#include "base/text.h"
#include "sandbox/child/way_out.h"
#include "spec/guest.h"

namespace glovebox {
namespace {

constexpr int kLastFd = 2;
// Open in all of its processes, so that their tables of descriptors are large from the beginning.
// The sentry puts one at 256: if its table had to grow for that, a thread of it would wait for a
// grace period of RCU (expand_fdtable() of the kernel), which is tens of milliseconds.
constexpr int kHighFd = 500;
// Of a guest with all the memory that it may have, on a slow disk.
constexpr int kSavePatience = 120'000;

// All that the child needs, made before it exists: it runs in our memory until its exec.
struct Start {
  const char* program = nullptr;
  char* const* argv = nullptr;
  char* const* env = nullptr;
  int null = -1;
  int complaints = -1;
  int control = -1;
  std::span<const int> tasks;  // Of cgroups (v1) that it joins.
  std::uint16_t egress_port = 0;
  int way_out_to = -1;
  long error = 0;
};

GB_NO_SANITIZER long become(const Start& start) {
  (void)sys::raw(SYS_setsid);
  sys::signals_by_default();
  const std::uint64_t none = 0;
  (void)sys::raw(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, 8);
  for (const int tasks : start.tasks) {
    if (const long r = sys::raw(SYS_write, tasks, "0", 1); r < 0) {
      return r;
    }
  }
  if (start.egress_port != 0) {
    // What runsc starts stays in it.
    if (const long r = sys::raw(SYS_unshare, CLONE_NEWNET); r < 0) {
      return r;
    }
    if (const long r = child::provide_way_out(start.egress_port, start.way_out_to); r < 0) {
      return r;
    }
  }
  // None of these is below 3: their owner has seen to that.
  const std::array<int, 3> places = {start.control, start.null, start.complaints};
  for (std::size_t place = 0; place < places.size(); ++place) {
    if (const long r = sys::raw(SYS_dup2, places[place], place); r < 0) {
      return r;
    }
  }
  if (const long r = sys::raw(SYS_close_range, kLastFd + 1, ~0U, CLOSE_RANGE_CLOEXEC); r < 0) {
    return r;
  }
  // If the limit of descriptors is lower, it starts without.
  (void)sys::raw(SYS_dup2, start.null, kHighFd);
  return sys::raw(SYS_execve, start.program, start.argv, start.env);
}

GB_NO_SANITIZER [[noreturn]] void run_start(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  start.error = -become(start);
  for (;;) {
    (void)sys::raw(SYS_exit, 127);
  }
}

// A descriptor out of the way of those that the child arranges.
Result<UniqueFd> lifted(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, kLastFd + 1));
  return copy ? Result<UniqueFd>(std::move(copy)) : Error::from_errno("dup");
}

std::vector<std::string> arguments_of(const RunscOrder& order) {
  std::vector<std::string> arguments = runsc_options(order);
  arguments.emplace_back(order.image.empty() ? "run" : "restore");
  arguments.push_back("--bundle=" + order.bundle);
  if (!order.image.empty()) {
    arguments.push_back("--image-path=" + order.image);
  }
  arguments.push_back(order.id);
  return arguments;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

Result<std::string> look_for_runsc() {
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const named = std::getenv("GLOVEBOX_RUNSC");
  const char* const path = std::getenv("PATH");
  // NOLINTEND(concurrency-mt-unsafe)
  const auto usable = [](const std::string& file) { return ::access(file.c_str(), X_OK) == 0; };
  if (named != nullptr) {
    return usable(named) ? Result<std::string>(named)
                         : Error(ErrorCode::kUnsupported,
                                 std::string("GLOVEBOX_RUNSC is '") + named +
                                     "', which is not a program that can be started",
                                 "set it to the path of runsc");
  }
  std::string_view rest = path != nullptr ? std::string_view(path) : kRootPath;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string file = std::string(rest.substr(0, colon)) + "/runsc";
    if (file.starts_with('/') && usable(file)) {
      return file;
    }
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
  }
  return Error(ErrorCode::kUnsupported, "gVisor's program runsc is not installed",
               "on Debian 12, enable bookworm-backports and run 'apt install -t "
               "bookworm-backports runsc'; elsewhere, see docs/gvisor.md");
}

}  // namespace

std::vector<std::string> runsc_options(const RunscOrder& order) {
  return {"runsc", "--root=" + order.state,
          // Needs no virtualization, and no ptrace of the host's.
          "--platform=systrap",
          // Its own network stack, with a loopback device and nothing else; or the sockets of a
          // namespace of ours, which has only a way out.
          order.egress_port == 0 ? "--network=none" : "--network=host",
          // We have made the groups, and it is born in them.
          "--ignore-cgroups",
          // Nothing under the root is ever written.
          "--overlay2=none",
          // Only root can have ids of its own for it.
          ::geteuid() == 0 ? "--rootless=false" : "--rootless=true"};
}

Result<std::string> find_runsc() {
  static const Result<std::string> kFound = look_for_runsc();
  return kFound;
}

Result<Runsc> start_runsc(const RunscOrder& order, const Cgroup& cgroup) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error::from_errno("pipe");
  }
  UniqueFd complaints(ends[0]);
  const UniqueFd write_end(ends[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) {
    return Error::from_errno("open /dev/null");
  }
  const UniqueFd to_null = GB_TRY(lifted(null.get()));
  const UniqueFd to_complaints = GB_TRY(lifted(write_end.get()));
  const UniqueFd to_control = GB_TRY(lifted(order.control));
  Handing handing;
  if (order.egress_port != 0) {
    handing = GB_TRY(Handing::open());
  }
  std::vector<std::string> arguments = arguments_of(order);
  std::vector<std::string> environment = {"PATH=" + std::string(kRootPath)};
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> env = pointers(environment);
  Start start{.program = order.program.c_str(),
              .argv = argv.data(),
              .env = env.data(),
              .null = to_null.get(),
              .complaints = to_complaints.get(),
              .control = to_control.get(),
              .tasks = cgroup.task_fds(),
              .egress_port = order.egress_port,
              .way_out_to = handing.inner()};
  alignas(16) std::array<std::byte, 16UL * 1024> stack;
  int pidfd = -1;
  abi::CloneArgs clone{};
  // The child uses our memory until its exec, for which we wait: it is not a guest that could delay
  // it. It has none of our signal handlers from the first moment, or one of ours would run in it.
  clone.flags = CLONE_PIDFD | CLONE_VM | CLONE_VFORK | abi::kCloneClearSighand;
  clone.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  clone.exit_signal = SIGCHLD;
  clone.stack = reinterpret_cast<std::uint64_t>(stack.data());
  clone.stack_size = stack.size();
  if (cgroup.directory_fd() >= 0) {
    clone.flags |= abi::kCloneIntoCgroup;
    clone.cgroup = static_cast<std::uint64_t>(cgroup.directory_fd());
  }
  sys::become_undumpable();
  const long pid = sys::clone3_on_stack(clone, &run_start, &start);
  if (pid < 0) {
    return Error::from_errno("clone", static_cast<int>(-pid));
  }
  Cloned process{.pid = static_cast<pid_t>(pid), .pidfd = UniqueFd(pidfd)};
  if (start.error != 0) {
    const Unborn failed(std::move(process));
    return Error::from_errno("start " + order.program, static_cast<int>(start.error));
  }
  return Runsc{.process = std::move(process),
               .complaints = std::move(complaints),
               .way_out = handing ? WayOut::from(handing) : WayOut(),
               .held = {}};
}

namespace {

// Of a command of runsc that has ended: whether it succeeded, and the beginning of what it said.
struct Said {
  bool success = false;
  std::string text;
};

enum class Listen { kToAnswer, kToComplaints };

Result<Said> ask_runsc(const std::string& program, std::vector<std::string> words, Listen listen) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error::from_errno("pipe");
  }
  const UniqueFd said(ends[0]);
  UniqueFd write_end(ends[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const bool answers = listen == Listen::kToAnswer;
  const pid_t pid = GB_TRY(
      sys::start_process({.program = program,
                          .words = std::move(words),
                          .environment = std::vector<std::string>{"PATH=" + std::string(kRootPath)},
                          .descriptors = {null.get(), answers ? write_end.get() : null.get(),
                                          answers ? null.get() : write_end.get()},
                          .group = sys::NewProcess::Group::kItsOwnSession,
                          .all_signals_default = true}));
  write_end.reset();
  const UniqueFd process(static_cast<int>(sys::raw(SYS_pidfd_open, pid, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  if (::poll(&ended, 1, kSavePatience) == 0) {
    (void)::kill(pid, SIGKILL);
  }
  const bool success = sys::wait_for_end(pid) == 0;
  std::array<char, 4096> bytes;
  const ssize_t got = ::read(said.get(), bytes.data(), bytes.size());
  return Said{.success = success,
              .text = {bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0}};
}

}  // namespace

Result<std::string> version_of_runsc(const std::string& program) {
  const Said said = GB_TRY(ask_runsc(program, {"runsc", "--version"}, Listen::kToAnswer));
  std::string line = said.text.substr(0, said.text.find('\n'));
  if (!said.success || line.empty()) {
    return Error(ErrorCode::kUnavailable, "'" + program + " --version' failed",
                 "reinstall runsc, or set GLOVEBOX_RUNSC to the path of a working one");
  }
  return line;
}

Result<void> save_by_runsc(const RunscOrder& order, bool goes_on) {
  std::vector<std::string> words = runsc_options(order);
  // Pages go to the disk as they are: that is quicker than compressing them.
  words.insert(words.end(), {"checkpoint", "--compression=none", "--image-path=" + order.image});
  if (goes_on) {
    words.emplace_back("--leave-running");
  }
  words.push_back(order.id);
  const Said end = GB_TRY(ask_runsc(order.program, std::move(words), Listen::kToComplaints));
  if (end.success) {
    return {};
  }
  std::string_view said = end.text;
  said = said.substr(0, said.find_last_not_of('\n') + 1);
  return Error(ErrorCode::kUnavailable,
               "save the memory of the sandbox: " + printable(said.substr(said.rfind('\n') + 1)));
}

}  // namespace glovebox
