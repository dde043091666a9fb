// SPDX-License-Identifier: Apache-2.0
#include "warden/launcher.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/wire.h"

namespace glovebox::warden {
namespace {

constexpr std::uint32_t kKillEverything = 0xffffffff;  // In place of a request's size.
constexpr std::uint32_t kMaxRequest = 1U << 20;

bool read_all(int fd, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, to, size);
    if (got <= 0) {
      if (got < 0 && errno == EINTR) {
        continue;
      }
      return false;
    }
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int fd, const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::send(fd, from, size, MSG_NOSIGNAL);
    if (put < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    from += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

// Everything that the guest's own process needs, made before it exists: it shares our memory and
// may only make system calls.
struct Start {
  std::vector<std::string> candidates;  // Paths to try, in the order of PATH.
  std::vector<char*> argv;
  std::vector<char*> env;
  std::string cwd;
  std::array<int, 3> stdio{};
  struct Limit {
    int resource;
    rlimit64 value;
  };
  std::vector<Limit> limits;
  std::span<const sock_filter> filter;
  int error = 0;
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

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

long reset_signals() {
  // Ignored signals and the mask survive an exec; a guest starts with neither.
  struct {
    void* handler = nullptr;
    unsigned long flags = 0;
    void* restorer = nullptr;
    std::uint64_t mask = 0;
  } const by_default;
  for (int signal = 1; signal <= 64; ++signal) {
    (void)sys::raw(SYS_rt_sigaction, signal, &by_default, nullptr, 8);
  }
  const std::uint64_t none = 0;
  return sys::raw(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, 8);
}

long become(Start& start) {
  (void)sys::raw(SYS_setsid);
  if (const long r = reset_signals(); r < 0) {
    return r;
  }
  for (int fd = 0; fd < 3; ++fd) {
    if (const long r = sys::raw(SYS_dup2, start.stdio.at(static_cast<std::size_t>(fd)), fd); r < 0) {
      return r;
    }
  }
  (void)sys::raw(SYS_close_range, 3, ~0U, 0);
  if (const long r = sys::raw(SYS_chdir, start.cwd.c_str()); r < 0) {
    return r;
  }
  for (const Start::Limit& limit : start.limits) {
    if (const long r = sys::raw(SYS_prlimit64, 0, limit.resource, &limit.value, nullptr); r < 0) {
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

int run_guest(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  start.error = static_cast<int>(-become(start));
  for (;;) {
    (void)sys::raw(SYS_exit, 127);
  }
}

void add_limit(Start& start, int resource, std::uint64_t soft, std::uint64_t hard) {
  if (soft > 0) {
    start.limits.push_back({resource, rlimit64{soft, hard}});
  }
}

// Answers the guest's pid, or a negative errno.
int start_guest(StartRequest request, const std::array<int, 3>& stdio) {
  Start start;
  if (request.argv.empty()) {
    return -EINVAL;
  }
  start.candidates = find_candidates(request.argv.front(), request.env);
  start.argv = pointers(request.argv);
  start.env = pointers(request.env);
  start.cwd = request.cwd.empty() ? "." : request.cwd;
  start.stdio = stdio;
  add_limit(start, RLIMIT_NOFILE, request.open_files, request.open_files);
  // The hard limit kills what ignores SIGXCPU.
  add_limit(start, RLIMIT_CPU, request.cpu_seconds, request.cpu_seconds + 1);
  add_limit(start, RLIMIT_NPROC, request.processes, request.processes);
  add_limit(start, RLIMIT_DATA, request.data_size, request.data_size);
  add_limit(start, RLIMIT_FSIZE, request.file_size, request.file_size);
  std::vector<sock_filter> filter(request.filter.size() / sizeof(sock_filter));
  std::memcpy(filter.data(), request.filter.data(), filter.size() * sizeof(sock_filter));
  start.filter = filter;

  // A stack of its own, because the child runs in our memory while we wait for its exec.
  alignas(16) static std::array<char, 64 * 1024> stack;
  const int pid = ::clone(run_guest, stack.data() + stack.size(),
                          CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD, &start);
  if (pid < 0) {
    return -errno;
  }
  return start.error != 0 ? -start.error : pid;
}

// Guests must not be able to signal the warden; with this they can signal only what they and the
// launcher started (Landlock ABI 6, Linux 6.12). Answers whether the kernel could.
bool scope_signals() {
  const abi::LandlockRulesetAttr attributes{
      .scoped = abi::kScopeSignal | abi::kScopeAbstractUnixSocket};
  const long ruleset = sys::raw(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  if (ruleset < 0) {
    return false;
  }
  const bool done = sys::raw(SYS_landlock_restrict_self, ruleset, 0) == 0;
  (void)sys::raw(SYS_close, ruleset);
  return done;
}

// The kernel's OOM killer takes guests, not us; nobody else may raise the warden's own score.
void prefer_guests_for_oom() {
  const UniqueFd fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd) {
    (void)!::write(fd.get(), "1000", 4);
  }
}

[[noreturn]] void serve(int socket, bool own_pids) {
  const bool scoped = scope_signals();
  for (;;) {
    std::uint32_t size = 0;
    std::array<int, 3> stdio = {-1, -1, -1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof stdio)> control{};
    iovec part{&size, sizeof size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got != sizeof size) {
      ::_exit(0);  // The warden is gone, and with it the sandbox.
    }
    int answer = 0;
    if (size == kKillEverything) {
      // Spares the caller and PID 1 (kill(2)). Without a domain or an identity of our own this
      // would reach the rest of the caller's processes.
      answer = own_pids || scoped ? (::kill(-1, SIGKILL) == 0 || errno == ESRCH ? 0 : -errno)
                                  : -EOPNOTSUPP;
    } else {
      std::string bytes(std::min(size, kMaxRequest), '\0');
      if (size > kMaxRequest || !read_all(socket, bytes.data(), size)) {
        ::_exit(1);
      }
      const cmsghdr* const header = CMSG_FIRSTHDR(&message);
      if (header != nullptr && header->cmsg_type == SCM_RIGHTS &&
          header->cmsg_len == CMSG_LEN(sizeof stdio)) {
        std::memcpy(stdio.data(), CMSG_DATA(header), sizeof stdio);
      }
      auto request = StartRequest::decode(bytes);
      answer = request ? start_guest(std::move(request).value(), stdio) : -EINVAL;
      for (const int fd : stdio) {
        (void)::close(fd);
      }
    }
    if (!write_all(socket, reinterpret_cast<const char*>(&answer), sizeof answer)) {
      ::_exit(0);
    }
  }
}

}  // namespace

Result<Launcher> Launcher::create(bool own_pids) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error::from_errno("fork");
  }
  if (pid == 0) {
    (void)::close_range(3, static_cast<unsigned>(theirs.get()) - 1, 0);
    (void)::close_range(static_cast<unsigned>(theirs.get()) + 1, ~0U, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    prefer_guests_for_oom();
    // From here on /proc/self belongs to root, and nobody traces us.
    (void)::prctl(PR_SET_DUMPABLE, 0);
    serve(theirs.get(), own_pids);
  }
  return Launcher(pid, std::move(ours));
}

Result<Launcher::Started> Launcher::start(const StartRequest& request, const GuestStdio& stdio) {
  const std::string bytes = request.encode();
  auto size = static_cast<std::uint32_t>(bytes.size());
  if (size > kMaxRequest) {
    return Started{.start_error = E2BIG};
  }
  const std::array<int, 3> fds = {stdio.in.get(), stdio.out.get(), stdio.err.get()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fds)> control{};
  iovec part{&size, sizeof size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(header), fds.data(), sizeof fds);
  if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) != sizeof size ||
      !write_all(socket_.get(), bytes.data(), bytes.size())) {
    return Error::from_errno("ask the launcher");
  }
  int answer = 0;
  if (!read_all(socket_.get(), reinterpret_cast<char*>(&answer), sizeof answer)) {
    return Error::from_errno("hear the launcher");
  }
  return answer < 0 ? Started{.start_error = -answer} : Started{.pid = answer};
}

Result<void> Launcher::kill_everything() {
  const std::uint32_t command = kKillEverything;
  int answer = 0;
  if (!write_all(socket_.get(), reinterpret_cast<const char*>(&command), sizeof command) ||
      !read_all(socket_.get(), reinterpret_cast<char*>(&answer), sizeof answer)) {
    return Error::from_errno("ask the launcher");
  }
  if (answer < 0) {
    return Error::from_errno("kill the guests", -answer);
  }
  return {};
}

}  // namespace glovebox::warden
