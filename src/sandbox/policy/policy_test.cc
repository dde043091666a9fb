// SPDX-License-Identifier: Apache-2.0
#include "sandbox/policy/policy.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/policy/filter_answer.h"

namespace glovebox::policy {
namespace {

constexpr std::uint32_t kX32Bit = 0x40000000;

struct Policy {
  std::string name;
  Filter filter;
};
std::ostream& operator<<(std::ostream& out, const Policy& policy) { return out << policy.name; }

// Claims about all policies.
class EveryPolicyTest : public ::testing::TestWithParam<Policy> {
 protected:
  static std::uint32_t ask(const Call& call) { return answer(GetParam().filter, call); }
};

INSTANTIATE_TEST_SUITE_P(Policies,
                         EveryPolicyTest,
                         ::testing::Values(Policy{"default", default_filter()},
                                           Policy{"fork", fork_filter()},
                                           Policy{"nested", nested_filter()},
                                           Policy{"no_namespaces", no_namespaces_filter()},
                                           Policy{"own_kernel", own_kernel_filter()},
                                           Policy{"shared_user", shared_user_filter()},
                                           Policy{"strict", strict_filter()}),
                         [](const auto& policy) { return policy.param.name; });

TEST_P(EveryPolicyTest, AnswersEachNumber) {
  for (std::uint32_t number = 0; number < 2048; ++number) {
    EXPECT_NE(answer(GetParam().filter, {number}), kBroken) << number;
  }
}

TEST_P(EveryPolicyTest, KillsForeignArchitectures) {
  constexpr std::array<std::uint32_t, 3> kForeign = {AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, 0};
  for (const std::uint32_t arch : kForeign) {
    for (const long number : {SYS_read, SYS_getpid, SYS_mount}) {
      Call foreign = call(number);
      foreign.arch = arch;
      EXPECT_EQ(ask(foreign), SECCOMP_RET_KILL_PROCESS) << arch << ' ' << number;
    }
  }
}

TEST_P(EveryPolicyTest, KillsTheX32Range) {
  for (const std::uint32_t number : {kX32Bit, kX32Bit | SYS_read, kX32Bit | 512, 0xffffffffU}) {
    EXPECT_EQ(ask({number}), SECCOMP_RET_KILL_PROCESS) << number;
  }
}

TEST_P(EveryPolicyTest, SaysThatUnreviewedCallsDoNotExist) {
  for (const std::uint32_t number : {470U, 512U, 547U, 1000U, kX32Bit - 1}) {
    EXPECT_EQ(ask({number}), refused(ENOSYS)) << number;
  }
}

TEST_P(EveryPolicyTest, SaysThatClone3DoesNotExistSoThatLibcFallsBack) {
  EXPECT_EQ(ask(call(SYS_clone3)), refused(ENOSYS));
}

TEST_P(EveryPolicyTest, AllowsThreadsAndProcesses) {
  const std::uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                               CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                               CLONE_CHILD_CLEARTID;
  for (const std::uint64_t flags :
       {thread, std::uint64_t{SIGCHLD}, std::uint64_t{CLONE_VM | CLONE_VFORK | SIGCHLD}}) {
    EXPECT_EQ(ask(call(SYS_clone, {flags})), SECCOMP_RET_ALLOW) << flags;
  }
  EXPECT_EQ(ask(call(SYS_execve)), SECCOMP_RET_ALLOW);
}

TEST_P(EveryPolicyTest, RefusesACloneWithANewNamespaceUnlessItIsForSandboxesInside) {
  const std::uint32_t expected =
      GetParam().name == "nested" ? std::uint32_t{SECCOMP_RET_ALLOW} : refused(EPERM);
  for (const std::uint64_t flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET,
                                   CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    EXPECT_EQ(ask(call(SYS_clone, {flag | SIGCHLD})), expected) << flag;
    EXPECT_EQ(ask(call(SYS_clone, {kJunk | flag | SIGCHLD})), expected) << flag;
  }
  EXPECT_EQ(ask(call(SYS_clone, {CLONE_UNTRACED | SIGCHLD})), refused(EPERM));
}

TEST_P(EveryPolicyTest, RefusesToTypeIntoTheTerminal) {
  constexpr std::uint64_t kTioclinux = 0x541C;
  for (const std::uint64_t command :
       {std::uint64_t{TIOCSTI}, kTioclinux, std::uint64_t{TIOCCONS}, std::uint64_t{TIOCSETD}}) {
    EXPECT_EQ(ask(call(SYS_ioctl, {0, command})), refused(EPERM)) << command;
    EXPECT_EQ(ask(call(SYS_ioctl, {0, kJunk | command})), refused(EPERM)) << command;
  }
  // What a terminal of the guest's own needs.
  constexpr std::array<std::uint64_t, 9> kAllowed = {TIOCGWINSZ,  TIOCSWINSZ, TIOCSCTTY,
                                                     TIOCNOTTY,   TIOCGPTN,   TIOCSPTLCK,
                                                     TIOCGPTPEER, TIOCSPGRP,  TCSETS};
  for (const std::uint64_t command : kAllowed) {
    EXPECT_EQ(ask(call(SYS_ioctl, {0, command})), SECCOMP_RET_ALLOW) << command;
  }
  EXPECT_EQ(ask(call(SYS_ioctl, {TIOCSTI, FIONREAD})), SECCOMP_RET_ALLOW);
}

TEST_P(EveryPolicyTest, LooksAtTheLowHalfOfAnArgumentOnly) {
  const std::vector<Call> calls = {
      call(SYS_clone, {SIGCHLD}),
      call(SYS_socket, {AF_UNIX, SOCK_STREAM, 0}),
      call(SYS_socket, {AF_INET, SOCK_STREAM, 0}),
      call(SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}),
      call(SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}),
      call(SYS_ioctl, {0, TIOCGWINSZ}),
      call(SYS_setsockopt, {3, SOL_SOCKET, SO_REUSEADDR}),
      call(SYS_setsockopt, {3, 17, 100}),
      call(SYS_socket, {AF_INET, SOCK_STREAM, 262}),
      call(SYS_fcntl, {3, F_OFD_SETLK}),
      call(SYS_mmap, {0, 4096, 3, MAP_HUGETLB}),
      call(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER}),
      call(SYS_personality, {ADDR_NO_RANDOMIZE}),
  };
  for (const Call& plain : calls) {
    Call junk = plain;
    for (std::uint64_t& argument : junk.arguments) {
      argument |= kJunk;
    }
    EXPECT_EQ(ask(junk), ask(plain)) << plain.number;
  }
}

class DefaultPolicyTest : public ::testing::Test {
 protected:
  static std::uint32_t ask(const Call& call) { return answer(default_filter(), call); }
};

TEST_F(DefaultPolicyTest, AnswersEachRefusalWithItsErrno) {
  for (const Refusal& refusal : default_refusals()) {
    EXPECT_EQ(ask(call(refusal.number)), refused(refusal.error))
        << refusal.group << ' ' << refusal.number;
  }
}

TEST_F(DefaultPolicyTest, RefusesWhatReachesAroundTheWalls) {
  for (const long number : {SYS_mount,
                            SYS_umount2,
                            SYS_pivot_root,
                            SYS_chroot,
                            SYS_open_tree,
                            SYS_move_mount,
                            SYS_fsopen,
                            SYS_unshare,
                            SYS_setns,
                            SYS_bpf,
                            SYS_ptrace,
                            SYS_perf_event_open,
                            SYS_process_vm_readv,
                            SYS_process_vm_writev,
                            SYS_pidfd_getfd,
                            SYS_open_by_handle_at,
                            SYS_init_module,
                            SYS_finit_module,
                            SYS_kexec_load,
                            SYS_reboot,
                            SYS_clock_settime}) {
    EXPECT_EQ(ask(call(number)), refused(EPERM)) << number;
  }
  for (const long number : {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
                            SYS_add_key, SYS_request_key, SYS_keyctl, SYS_userfaultfd}) {
    EXPECT_EQ(ask(call(number)), refused(ENOSYS)) << number;
  }
}

TEST_F(DefaultPolicyTest, AllowsWhatOrdinaryProgramsDo) {
  for (const long number : {SYS_read, SYS_write, SYS_openat, SYS_mmap, SYS_mprotect, SYS_futex,
                            SYS_connect, SYS_bind, SYS_shmget, SYS_setuid, SYS_prctl, SYS_rseq,
                            SYS_landlock_create_ruleset, SYS_close_range, SYS_faccessat2}) {
    EXPECT_EQ(ask(call(number)), SECCOMP_RET_ALLOW) << number;
  }
}

TEST_F(DefaultPolicyTest, KnowsFourFamiliesOfSockets) {
  for (std::uint64_t family = 0; family < 64; ++family) {
    const bool known =
        family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
    EXPECT_EQ(ask(call(SYS_socket, {family, SOCK_STREAM, 0})),
              known ? SECCOMP_RET_ALLOW : refused(EAFNOSUPPORT))
        << family;
  }
}

TEST_F(DefaultPolicyTest, KnowsOneProtocolOfNetlink) {
  for (std::uint64_t protocol = 1; protocol < 32; ++protocol) {
    EXPECT_EQ(ask(call(SYS_socket, {AF_NETLINK, SOCK_RAW, protocol})), refused(EAFNOSUPPORT))
        << protocol;
  }
}

TEST_F(DefaultPolicyTest, RefusesSocketOptionsWithABadHistory) {
  struct Option {
    std::uint64_t level;
    std::uint64_t name;
  };
  constexpr Option kUdpEncap{17, 100};
  constexpr Option kTcpUlp{6, 31};
  for (const Option& option :
       {kUdpEncap, kTcpUlp, Option{0, 64}, Option{41, 64}, Option{0, 65}, Option{41, 65},
        Option{0, 96}, Option{0, 97}, Option{0, 128}, Option{0, 129}}) {
    EXPECT_EQ(ask(call(SYS_setsockopt, {3, option.level, option.name})), refused(EPERM))
        << option.level << ' ' << option.name;
  }
  // The same numbers mean something else at another level.
  for (const Option& option : {Option{6, 100}, Option{17, 31}, Option{1, 64}, Option{6, 64},
                               Option{17, 65}, Option{0, 100}, Option{41, 31}, Option{6, 1}}) {
    EXPECT_EQ(ask(call(SYS_setsockopt, {3, option.level, option.name})), SECCOMP_RET_ALLOW)
        << option.level << ' ' << option.name;
  }
}

TEST_F(DefaultPolicyTest, RefusesAnOptionOfUdpAtEachLevelThatTakesIt) {
  constexpr std::uint64_t kUdpLite = 136;
  EXPECT_EQ(ask(call(SYS_setsockopt, {3, kUdpLite, 100})), refused(EPERM));
}

TEST_F(DefaultPolicyTest, RefusesToAttachCodeToASocket) {
  for (const std::uint64_t option :
       {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF}) {
    EXPECT_EQ(ask(call(SYS_setsockopt, {3, SOL_SOCKET, option})), refused(EPERM)) << option;
  }
  EXPECT_EQ(ask(call(SYS_setsockopt, {3, SOL_SOCKET, SO_DETACH_FILTER})), SECCOMP_RET_ALLOW);
}

TEST_F(DefaultPolicyTest, RefusesKeysOfConnectionsWhichAreChargedToNobody) {
  constexpr std::uint64_t kMd5{14};
  constexpr std::uint64_t kMd5Extended{32};
  constexpr std::uint64_t kAddKey{38};
  for (const std::uint64_t option : {kMd5, kMd5Extended, kAddKey}) {
    EXPECT_EQ(ask(call(SYS_setsockopt, {3, IPPROTO_TCP, option})), refused(EPERM)) << option;
  }
  EXPECT_EQ(ask(call(SYS_setsockopt, {3, SOL_SOCKET, kMd5})), SECCOMP_RET_ALLOW);
}

TEST_F(DefaultPolicyTest, RefusesFlowLabelsOfWhichTheHostHasOnlySoMany) {
  constexpr std::uint64_t kFlowLabelManager = 32;
  EXPECT_EQ(ask(call(SYS_setsockopt, {3, IPPROTO_IPV6, kFlowLabelManager})), refused(EPERM));
  EXPECT_EQ(ask(call(SYS_setsockopt, {3, IPPROTO_IP, kFlowLabelManager})), SECCOMP_RET_ALLOW);
}

TEST_F(DefaultPolicyTest, KnowsTheCommonProtocolsOfTheInternet) {
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    for (std::uint64_t protocol = 0; protocol < 300; ++protocol) {
      const bool known = protocol == IPPROTO_IP || protocol == IPPROTO_ICMP ||
                         protocol == IPPROTO_TCP || protocol == IPPROTO_UDP ||
                         protocol == IPPROTO_ICMPV6;
      for (const long number : {SYS_socket, SYS_socketpair}) {
        EXPECT_EQ(ask(call(number, {family, SOCK_STREAM | SOCK_CLOEXEC, protocol})),
                  known ? SECCOMP_RET_ALLOW : refused(EPROTONOSUPPORT))
            << family << ' ' << protocol;
      }
    }
    for (const std::uint64_t type : {SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET}) {
      EXPECT_EQ(ask(call(SYS_socket, {family, type | SOCK_NONBLOCK, 0})), refused(ESOCKTNOSUPPORT))
          << family << ' ' << type;
    }
  }
}

TEST_F(DefaultPolicyTest, KnowsNoOtherFamilyForPairsEither) {
  EXPECT_EQ(ask(call(SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0})), SECCOMP_RET_ALLOW);
  for (const std::uint64_t family : {AF_TIPC, AF_ALG, AF_VSOCK, AF_BLUETOOTH}) {
    EXPECT_EQ(ask(call(SYS_socketpair, {family, SOCK_STREAM, 0})), refused(EAFNOSUPPORT)) << family;
  }
}

TEST_F(DefaultPolicyTest, GivesEachProcessOneTableOfDescriptors) {
  const std::uint64_t shared = CLONE_VM | CLONE_FS | CLONE_SIGHAND;
  EXPECT_EQ(ask(call(SYS_clone, {shared | CLONE_FILES | SIGCHLD})), refused(EPERM));
  EXPECT_EQ(ask(call(SYS_clone, {shared | CLONE_THREAD})), refused(EPERM));
  EXPECT_EQ(ask(call(SYS_clone, {shared | CLONE_THREAD | CLONE_FILES})), SECCOMP_RET_ALLOW);
}

TEST_F(DefaultPolicyTest, RefusesLocksThatBelongToNoProcess) {
  for (const std::uint64_t command : {F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW}) {
    EXPECT_EQ(ask(call(SYS_fcntl, {3, command})), refused(EINVAL)) << command;
  }
  for (const std::uint64_t command : {F_SETLK, F_SETLKW, F_GETLK, F_GETFL, F_DUPFD_CLOEXEC}) {
    EXPECT_EQ(ask(call(SYS_fcntl, {3, command})), SECCOMP_RET_ALLOW) << command;
  }
}

TEST_F(DefaultPolicyTest, RefusesTheHugePagesOfTheHost) {
  EXPECT_EQ(ask(call(SYS_mmap, {0, 2 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB})),
            refused(ENOMEM));
  EXPECT_EQ(ask(call(SYS_mmap, {0, 2 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(ask(call(SYS_memfd_create, {0, MFD_HUGETLB | MFD_CLOEXEC})), refused(EINVAL));
  EXPECT_EQ(ask(call(SYS_memfd_create, {0, MFD_CLOEXEC})), SECCOMP_RET_ALLOW);
}

TEST_F(DefaultPolicyTest, FlushesNoDiskOfTheHost) {
  EXPECT_EQ(ask(call(SYS_sync)), refused(0));
  EXPECT_EQ(ask(call(SYS_syncfs)), refused(ENOSYS));
  EXPECT_EQ(ask(call(SYS_fsync)), SECCOMP_RET_ALLOW);
}

TEST_F(DefaultPolicyTest, MergesNoPagesWithThoseOfOthers) {
  constexpr std::uint64_t kSetMemoryMerge = 67;
  EXPECT_EQ(ask(call(SYS_prctl, {kSetMemoryMerge, 1})), refused(EINVAL));
  EXPECT_EQ(ask(call(SYS_prctl, {PR_SET_NAME})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(ask(call(SYS_madvise, {0, 4096, MADV_MERGEABLE})), refused(EINVAL));
  EXPECT_EQ(ask(call(SYS_madvise, {0, 4096, MADV_DONTNEED})), SECCOMP_RET_ALLOW);
}

TEST_F(DefaultPolicyTest, LetsTheWardenFilterButNotListen) {
  EXPECT_EQ(ask(call(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC})),
            SECCOMP_RET_ALLOW);
  EXPECT_EQ(ask(call(SYS_seccomp, {SECCOMP_SET_MODE_FILTER,
                                   SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC})),
            refused(EPERM));
}

TEST_F(DefaultPolicyTest, AllowsHarmlessPersonalitiesOnly) {
  for (const std::uint64_t persona :
       {std::uint64_t{PER_LINUX}, std::uint64_t{PER_LINUX32}, std::uint64_t{UNAME26},
        std::uint64_t{ADDR_NO_RANDOMIZE}, std::uint64_t{0xffffffff}}) {
    EXPECT_EQ(ask(call(SYS_personality, {persona})), SECCOMP_RET_ALLOW) << persona;
  }
  for (const std::uint64_t persona :
       {std::uint64_t{READ_IMPLIES_EXEC}, std::uint64_t{MMAP_PAGE_ZERO}, std::uint64_t{PER_SVR4},
        std::uint64_t{ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC}}) {
    EXPECT_EQ(ask(call(SYS_personality, {persona})), refused(EPERM)) << persona;
  }
}

// In a child: installs the filter and makes one call that it refuses. Exits with the call's errno,
// or with 255 when the kernel does not take the filter.
void try_in_kernel(Filter filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    ::_exit(255);
  }
  // A call that every policy refuses, and that otherwise fails in another way.
  ::_exit(::syscall(SYS_setns, -1, 0) == 0 ? 0 : errno);
}

TEST_P(EveryPolicyTest, IsTakenByTheKernel) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try_in_kernel(GetParam().filter);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EPERM);
}

}  // namespace
}  // namespace glovebox::policy
