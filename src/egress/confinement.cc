// SPDX-License-Identifier: Apache-2.0
#include "egress/confinement.h"

#include <grp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "base/confined/confine.h"
#include "base/sys/undumpable.h"

namespace glovebox::egress {
namespace {

// The system calls that an event loop with sockets needs; files cannot be opened at all.
constexpr auto kEither =
    confined::join(std::array<std::uint32_t, 30>{SYS_recvmsg,         SYS_sendmsg,
                                                 SYS_epoll_wait,      SYS_recvfrom,
                                                 SYS_sendto,          SYS_read,
                                                 SYS_write,           SYS_readv,
                                                 SYS_writev,          SYS_epoll_ctl,
                                                 SYS_timerfd_settime, SYS_close,
                                                 SYS_accept,          SYS_accept4,
                                                 SYS_shutdown,        SYS_setsockopt,
                                                 SYS_getsockopt,      SYS_getsockname,
                                                 SYS_getpeername,     SYS_ioctl,
                                                 SYS_fcntl,           SYS_poll,
                                                 SYS_epoll_create1,   SYS_timerfd_create,
                                                 SYS_eventfd2,        SYS_gettimeofday,
                                                 SYS_rt_sigprocmask,  SYS_clock_nanosleep,
                                                 SYS_getpid,          SYS_sched_getaffinity},
                   confined::kMemoryAndEnd);
constexpr auto kWithoutWayOut = confined::allow_only(kEither);
constexpr auto kCalls = confined::allow_only(
    confined::join(std::array<std::uint32_t, 6>{SYS_socket, SYS_connect, SYS_bind, SYS_splice,
                                                SYS_pipe2, SYS_sched_setaffinity},
                   kEither));

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kNoFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;
constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;

constexpr std::uint32_t low_half(unsigned argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                    argument * sizeof(std::uint64_t));
}

// Comes before the list above: sockets are IPv4 or IPv6, so that they can reach neither sockets of
// other programs on the host nor the kernel; ioctl only makes them nonblocking; and no other
// process is moved to a processor. The kernel reads 32 bits of each of these arguments.
constexpr std::array<sock_filter, 15> kArguments = {{
    {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
    {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, SYS_socket},
    {BPF_JMP | BPF_JEQ | BPF_K, 8, 0, SYS_ioctl},
    {BPF_JMP | BPF_JEQ | BPF_K, 5, 0, SYS_sched_setaffinity},
    {BPF_RET | BPF_K, 0, 0, kAllow},
    {BPF_LD | BPF_W | BPF_ABS, 0, 0, low_half(0)},
    {BPF_JMP | BPF_JEQ | BPF_K, 6, 0, AF_INET},
    {BPF_JMP | BPF_JEQ | BPF_K, 5, 0, AF_INET6},
    {BPF_RET | BPF_K, 0, 0, kNoFamily},
    {BPF_LD | BPF_W | BPF_ABS, 0, 0, low_half(0)},
    {BPF_JMP | BPF_JEQ | BPF_K, 2, 3, 0},
    {BPF_LD | BPF_W | BPF_ABS, 0, 0, low_half(1)},
    {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, FIONBIO},
    {BPF_RET | BPF_K, 0, 0, kAllow},
    {BPF_RET | BPF_K, 0, 0, kKill},
}};

// 128 sessions with two sockets each, the pipes of long flows, and lookups in progress.
constexpr std::uint64_t kDescriptors = 1024;
constexpr confined::Bounds kBounds{.memory = 512ULL << 20,
                                   .cpu_seconds = RLIM_INFINITY - 1,
                                   .file_size = 0,
                                   .ends_with_parent = false,
                                   .descriptors = 4};

}  // namespace

Result<void> take_identity(std::uint32_t identity) {
  if (identity == 0) {
    return {};
  }
  if (::setgroups(0, nullptr) != 0 || ::setresgid(identity, identity, identity) != 0 ||
      ::setresuid(identity, identity, identity) != 0) {
    return Error::from_errno("change the user");
  }
  return {};
}

Result<void> confine(Reach reach) {
  sys::become_undumpable();
  // There is no other way to avoid the signal when splice(2) writes to a connection that has ended.
  if (::signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
    return Error::from_errno("signal");
  }
  const rlimit descriptors{kDescriptors, kDescriptors};
  if (::setrlimit(RLIMIT_NOFILE, &descriptors) != 0) {
    return Error::from_errno("setrlimit");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Error::from_errno("prctl");
  }
  GB_TRY(confined::install_filter(kArguments));
  return confined::confine_self(kBounds, confined::Root::kKeep,
                                reach == Reach::kNone ? std::span<const sock_filter>(kWithoutWayOut)
                                                      : std::span<const sock_filter>(kCalls));
}

}  // namespace glovebox::egress
