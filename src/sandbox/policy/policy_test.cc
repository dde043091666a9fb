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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/policy/watched.h"

namespace glovebox::policy {
namespace {

constexpr std::uint32_t kX32Bit = 0x40000000;
constexpr std::uint64_t kJunk = 0xdeadbeefULL << 32;

struct Call {
  std::uint32_t number;
  std::array<std::uint64_t, 6> arguments{};
  std::uint32_t arch = AUDIT_ARCH_X86_64;
};

Call call(long number, std::array<std::uint64_t, 6> arguments = {}) {
  return {static_cast<std::uint32_t>(number), arguments};
}

// What the kernel would answer: an interpreter of the instructions that the compiler emits.
// Anything else, or a jump past the end, answers kBroken.
constexpr std::uint32_t kBroken = 0xbad;

std::uint32_t answer(Filter filter, const Call& call) {
  seccomp_data data{};
  data.nr = static_cast<int>(call.number);
  data.arch = call.arch;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    data.args[i] = call.arguments[i];
  }
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < filter.size(); ++at) {
    const sock_filter& step = filter[at];
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (step.k % 4 != 0 || step.k + 4 > sizeof(data)) {
          return kBroken;
        }
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, 4);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        break;
      case BPF_JMP | BPF_JA:
        at += step.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += accumulator == step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += accumulator >= step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (accumulator & step.k) != 0 ? step.jt : step.jf;
        break;
      case BPF_RET | BPF_K:
        return step.k;
      default:
        return kBroken;
    }
  }
  return kBroken;
}

constexpr std::uint32_t refused(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

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

TEST(NestedPolicyTest, AllowsNamespacesAndMountsOfTheGuestsOwn) {
  for (const long number : {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_sethostname}) {
    EXPECT_EQ(answer(nested_filter(), call(number)), SECCOMP_RET_ALLOW) << number;
  }
  for (const std::uint64_t flags :
       {CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, CLONE_NEWNET | CLONE_FS}) {
    EXPECT_EQ(answer(nested_filter(), call(SYS_unshare, {flags})), SECCOMP_RET_ALLOW) << flags;
  }
}

TEST(NestedPolicyTest, ASpacerAllowsEverything) {
  for (const long number : {SYS_read, SYS_mount, SYS_clone3}) {
    EXPECT_EQ(answer(spacer_filter(), call(number)), SECCOMP_RET_ALLOW) << number;
  }
  EXPECT_EQ(spacer_filter().size(), std::size_t{BPF_MAXINSNS});
}

TEST(NestedPolicyTest, RefusesOtherWaysToShareLessAndToMount) {
  constexpr std::uint64_t kNewTime = 0x80;
  for (const std::uint64_t flags : {std::uint64_t{CLONE_FILES}, std::uint64_t{CLONE_SYSVSEM},
                                    kNewTime, std::uint64_t{CLONE_NEWNS | CLONE_FILES}}) {
    EXPECT_EQ(answer(nested_filter(), call(SYS_unshare, {flags})), refused(EPERM)) << flags;
    EXPECT_EQ(answer(nested_filter(), call(SYS_unshare, {kJunk | flags})), refused(EPERM)) << flags;
  }
  EXPECT_EQ(answer(nested_filter(), call(SYS_setns)), refused(EPERM));
  for (const long number : {SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount,
                            SYS_fspick, SYS_mount_setattr}) {
    EXPECT_EQ(answer(nested_filter(), call(number)), refused(ENOSYS)) << number;
  }
}

TEST(NestedPolicyTest, RefusesElsewhereWhatTheDefaultRefuses) {
  for (const Refusal& refusal : default_refusals()) {
    if (refusal.group != "namespaces" && refusal.group != "mounts" &&
        refusal.number != SYS_sethostname && refusal.number != SYS_setdomainname) {
      EXPECT_EQ(answer(nested_filter(), call(refusal.number)), refused(refusal.error))
          << refusal.group << ' ' << refusal.number;
    }
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

TEST(NoMemoryProgramsPolicyTest, OnlyFilesInMemoryCanBeMadeThatAreNeverExecuted) {
  constexpr std::uint64_t kNoexecSeal = 8;
  const auto ask = [](const Call& each) { return answer(no_memory_programs_filter(), each); };
  EXPECT_EQ(ask(call(SYS_memfd_create, {0, MFD_CLOEXEC})), refused(ENOSYS));
  EXPECT_EQ(ask(call(SYS_memfd_create, {0, MFD_CLOEXEC | kNoexecSeal})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(ask(call(SYS_execve)), SECCOMP_RET_ALLOW);
}

TEST(NoHiddenMemoryPolicyTest, NothingCanBeMadeThatNoProcessHasMapped) {
  const auto ask = [](const Call& each) { return answer(no_hidden_memory_filter(), each); };
  for (const long number : {SYS_memfd_create, SYS_shmget, SYS_semget, SYS_msgget}) {
    EXPECT_EQ(ask(call(number)), refused(ENOSYS)) << number;
  }
  EXPECT_EQ(ask(call(SYS_mmap)), SECCOMP_RET_ALLOW);
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

TEST(GuestPolicyTest, AddsNoFilterOfTheGuestsOwn) {
  for (const Filter filter : {guest_filter(), fork_filter()}) {
    EXPECT_EQ(answer(filter, call(SYS_seccomp, {SECCOMP_SET_MODE_FILTER})), refused(EINVAL));
    EXPECT_EQ(answer(filter, call(SYS_prctl, {PR_SET_SECCOMP, SECCOMP_MODE_FILTER})),
              refused(EINVAL));
    EXPECT_EQ(answer(filter, call(SYS_prctl, {PR_GET_SECCOMP})), SECCOMP_RET_ALLOW);
    EXPECT_EQ(answer(filter, call(SYS_read)), SECCOMP_RET_ALLOW);
  }
}

TEST(GuestPolicyTest, IsTheDefaultAsWellForAFork) {
  for (const Refusal& refusal : default_refusals()) {
    EXPECT_EQ(answer(fork_filter(), call(refusal.number)), refused(refusal.error))
        << refusal.number;
  }
}

TEST(ZygotePolicyTest, EntersSandboxesAndFiltersItsForksButDoesNotListen) {
  EXPECT_EQ(answer(zygote_filter(), call(SYS_setns)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(zygote_filter(), call(SYS_clone3)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(zygote_filter(), call(SYS_unshare)), refused(EPERM));
  EXPECT_EQ(answer(zygote_filter(), call(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0})),
            SECCOMP_RET_ALLOW);
  for (const std::uint64_t junk : {std::uint64_t{0}, kJunk}) {
    EXPECT_EQ(answer(zygote_filter(), call(SYS_seccomp, {SECCOMP_SET_MODE_FILTER,
                                                         junk | SECCOMP_FILTER_FLAG_NEW_LISTENER})),
              refused(EPERM));
    EXPECT_EQ(answer(zygote_filter(), call(SYS_prctl, {junk | PR_SET_SECCOMP})), refused(EINVAL));
  }
}

// A filter that asks in place of refusing, and the one that it stands for. Of the filters that a
// process is under, the strictest answer holds: the least, as the kernel numbers them.
struct Pair {
  std::string name;
  std::vector<Filter> plain;
  std::vector<Filter> watched;
};
std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.name; }

std::uint32_t strictest(const std::vector<Filter>& filters, const Call& call) {
  std::uint32_t found = SECCOMP_RET_ALLOW;
  for (const Filter filter : filters) {
    const std::uint32_t said = answer(filter, call);
    const auto order = [](std::uint32_t value) {
      return static_cast<std::int32_t>(value & SECCOMP_RET_ACTION_FULL);
    };
    found = order(said) < order(found) ? said : found;
  }
  return found;
}

class WatchedPolicyTest : public ::testing::TestWithParam<Pair> {};

INSTANTIATE_TEST_SUITE_P(
    Policies,
    WatchedPolicyTest,
    ::testing::Values(Pair{"default", {default_filter()}, {watched_default_filter()}},
                      Pair{"root", {root_filter()}, {watched_root_filter()}},
                      Pair{"nested", {nested_filter()}, {watched_nested_filter()}},
                      Pair{"zygote", {zygote_filter()}, {watched_zygote_filter()}},
                      Pair{"fork",
                           {zygote_filter(), fork_filter()},
                           {watched_zygote_filter(), watched_fork_filter()}},
                      Pair{"guest",
                           {default_filter(), guest_filter()},
                           {watched_default_filter(), guest_filter()}}),
    [](const auto& pair) { return pair.param.name; });

TEST_P(WatchedPolicyTest, AsksOnlyWhereTheAnswerIsTheErrnoOfThePlainOneOrToGoOn) {
  constexpr std::uint64_t kUser = 0x10000000;  // CLONE_NEWUSER; for others, any number.
  std::size_t asked = 0;
  for (std::uint32_t number = 0; number < 2048; ++number) {
    for (const std::uint64_t first :
         {std::uint64_t{0}, kUser, kJunk | kUser, std::uint64_t{0x11}}) {
      const Call each = call(number, {first});
      const std::uint32_t plain = strictest(GetParam().plain, each);
      const std::uint32_t watched = strictest(GetParam().watched, each);
      if (watched != SECCOMP_RET_USER_NOTIF) {
        EXPECT_EQ(watched, plain) << number;
        continue;
      }
      ++asked;
      const auto known = watched_call(static_cast<int>(number));
      ASSERT_TRUE(known) << number;
      EXPECT_EQ(plain, known->error == 0 ? SECCOMP_RET_ALLOW : refused(known->error)) << number;
    }
  }
  EXPECT_GT(asked, 100U);
}

TEST(WatchedCallTest, OnlyStartsOfProgramsGoOn) {
  for (int number = 0; number < 2048; ++number) {
    const auto known = watched_call(number);
    if (known && known->error == 0) {
      EXPECT_TRUE(number == SYS_execve || number == SYS_execveat) << number;
    }
  }
  EXPECT_EQ(watched_call(SYS_mount)->name, "mount");
  EXPECT_EQ(watched_call(SYS_keyctl)->error, ENOSYS);
  EXPECT_FALSE(watched_call(SYS_clone3));
  EXPECT_FALSE(watched_call(SYS_read));
}

class NoNamespacesPolicyTest : public ::testing::Test {
 protected:
  static std::uint32_t ask(const Call& call) { return answer(no_namespaces_filter(), call); }
};

TEST_F(NoNamespacesPolicyTest, RefusesAllThatTheDefaultRefuses) {
  for (const Refusal& refusal : default_refusals()) {
    EXPECT_EQ(ask(call(refusal.number)), refused(refusal.error)) << refusal.number;
  }
}

TEST_F(NoNamespacesPolicyTest, RefusesWhatReachesTheHostsServices) {
  for (const long number :
       {SYS_connect, SYS_shmget, SYS_shmat, SYS_semget, SYS_msgget, SYS_mq_open}) {
    EXPECT_EQ(ask(call(number)), refused(EPERM)) << number;
  }
}

TEST_F(NoNamespacesPolicyTest, AllowsLocalSocketsThatMustConnectFirst) {
  for (const long number : {SYS_socket, SYS_socketpair}) {
    for (const std::uint64_t type : {SOCK_STREAM + 0, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                     SOCK_SEQPACKET | SOCK_CLOEXEC}) {
      EXPECT_EQ(ask(call(number, {AF_UNIX, type})), SECCOMP_RET_ALLOW) << number << ' ' << type;
    }
    for (const std::uint64_t family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK}) {
      EXPECT_EQ(ask(call(number, {family, SOCK_STREAM})), refused(EAFNOSUPPORT)) << family;
    }
  }
}

TEST_F(NoNamespacesPolicyTest, RefusesDatagramsWhichNeedNoConnect) {
  // A raw UNIX socket is a datagram socket: unix(7) has no other kind of it.
  for (const long number : {SYS_socket, SYS_socketpair}) {
    for (const std::uint64_t type : {SOCK_DGRAM, SOCK_RAW}) {
      EXPECT_EQ(ask(call(number, {AF_UNIX, type})), refused(EAFNOSUPPORT)) << number << ' ' << type;
      EXPECT_EQ(ask(call(number, {AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK})),
                refused(EAFNOSUPPORT))
          << number << ' ' << type;
    }
  }
}

TEST_F(NoNamespacesPolicyTest, ChangesThePriorityOfTheCallerOnly) {
  EXPECT_EQ(ask(call(SYS_setpriority, {PRIO_PROCESS, 0, 5})), SECCOMP_RET_ALLOW);
  for (const std::uint64_t which : {PRIO_PGRP, PRIO_USER}) {
    EXPECT_EQ(ask(call(SYS_setpriority, {which, 0, 5})), refused(EPERM)) << which;
  }
  EXPECT_EQ(ask(call(SYS_setpriority, {PRIO_PROCESS, 7, 5})), refused(EPERM));
  constexpr std::uint64_t kIoProcess = 1;
  EXPECT_EQ(ask(call(SYS_ioprio_set, {kIoProcess, 0, 0})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(ask(call(SYS_ioprio_set, {kIoProcess, 7, 0})), refused(EPERM));
  for (const std::uint64_t which : {std::uint64_t{2}, std::uint64_t{3}}) {
    EXPECT_EQ(ask(call(SYS_ioprio_set, {which, 0, 0})), refused(EPERM)) << which;
  }
}

TEST_F(NoNamespacesPolicyTest, ShowsTheClocksOfTheCallerOnly) {
  const auto clock_of = [](std::uint64_t pid, std::uint64_t kind) { return (~pid << 3) | kind; };
  for (const long number : {SYS_clock_gettime, SYS_clock_nanosleep, SYS_timer_create}) {
    EXPECT_EQ(ask(call(number, {CLOCK_MONOTONIC})), SECCOMP_RET_ALLOW);
    EXPECT_EQ(ask(call(number, {CLOCK_PROCESS_CPUTIME_ID})), SECCOMP_RET_ALLOW);
    EXPECT_EQ(ask(call(number, {clock_of(0, 2)})), SECCOMP_RET_ALLOW);
    EXPECT_EQ(ask(call(number, {clock_of(1, 2)})), refused(EINVAL));
    EXPECT_EQ(ask(call(number, {clock_of(4'000'000, 6)})), refused(EINVAL));
  }
}

TEST_F(NoNamespacesPolicyTest, ReadsNoAttributesByPath) {
  for (const long number : {SYS_getxattr + 0L, SYS_lgetxattr + 0L, SYS_listxattr + 0L,
                            SYS_llistxattr + 0L, 464L, 465L, 468L}) {
    EXPECT_EQ(ask(call(number)), refused(EOPNOTSUPP)) << number;
  }
  EXPECT_EQ(ask(call(SYS_fgetxattr)), SECCOMP_RET_ALLOW);
}

TEST_F(NoNamespacesPolicyTest, WatchesNoFiles) {
  for (const long number : {SYS_inotify_init, SYS_inotify_init1, SYS_inotify_add_watch}) {
    EXPECT_EQ(ask(call(number)), refused(EPERM)) << number;
  }
  EXPECT_EQ(ask(call(SYS_fcntl, {3, F_NOTIFY})), refused(EINVAL));
}

TEST(SharedUserPolicyTest, ChangesNoAttributesByPath) {
  constexpr long kFileSetattr = 469;
  for (const long number : {SYS_setxattr + 0L, SYS_lsetxattr + 0L, kFileSetattr}) {
    EXPECT_EQ(answer(shared_user_filter(), call(number)), refused(EPERM)) << number;
  }
}

TEST(RunnerPolicyTest, StartsNoProcessesAndNoThreadsAndReachesNobody) {
  for (const long number : {SYS_fork, SYS_vfork, SYS_execveat, SYS_socket, SYS_connect, SYS_ptrace,
                            SYS_kill, SYS_chmod, SYS_unshare, SYS_mount, SYS_shmget}) {
    EXPECT_EQ(answer(runner_filter(), call(number)), refused(EPERM)) << number;
  }
  EXPECT_EQ(answer(runner_filter(), call(SYS_clone, {SIGCHLD})), refused(EPERM));
  EXPECT_EQ(answer(runner_filter(), call(SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD})),
            refused(EPERM));
  EXPECT_EQ(answer(runner_filter(), call(SYS_clone, {CLONE_VM | CLONE_SIGHAND | CLONE_THREAD})),
            refused(EPERM));
}

TEST(RunnerPolicyTest, GivesUpProgramsAndThenCodeAndFilters) {
  constexpr std::uint64_t kReadWrite = PROT_READ | PROT_WRITE;
  EXPECT_EQ(answer(runner_filter(), call(SYS_execve)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(no_programs_filter(), call(SYS_execve)), refused(EPERM));
  EXPECT_EQ(answer(no_programs_filter(), call(SYS_execveat)), refused(EPERM));
  for (const long number : {SYS_mmap, SYS_mprotect}) {
    EXPECT_EQ(answer(no_programs_filter(), call(number, {0, 0, PROT_EXEC})), SECCOMP_RET_ALLOW);
    EXPECT_EQ(answer(no_new_code_filter(), call(number, {0, 0, PROT_READ | PROT_EXEC})),
              refused(EPERM));
    EXPECT_EQ(answer(no_new_code_filter(), call(number, {0, 0, PROT_EXEC | kJunk})),
              refused(EPERM));
    EXPECT_EQ(answer(no_new_code_filter(), call(number, {0, 0, kReadWrite})), SECCOMP_RET_ALLOW);
  }
  EXPECT_EQ(answer(no_new_code_filter(), call(SYS_seccomp)), refused(EINVAL));
}

class StrictPolicyTest : public ::testing::Test {
 protected:
  static std::uint32_t ask(const Call& call) { return answer(strict_filter(), call); }
};

TEST_F(StrictPolicyTest, RefusesWhatIsNotOnItsList) {
  for (const long number : {SYS_socket, SYS_connect, SYS_bind, SYS_sendto, SYS_setuid, SYS_chown,
                            SYS_setxattr, SYS_mknod, SYS_inotify_init1, SYS_seccomp, SYS_shmget,
                            SYS_mount, SYS_ptrace, SYS_bpf, SYS_keyctl, SYS_io_uring_setup}) {
    EXPECT_EQ(ask(call(number)), refused(EPERM)) << number;
  }
}

TEST_F(StrictPolicyTest, AllowsNothingThatTheDefaultRefuses) {
  for (const Refusal& refusal : default_refusals()) {
    EXPECT_NE(ask(call(refusal.number)), SECCOMP_RET_ALLOW) << refusal.number;
  }
}

TEST_F(StrictPolicyTest, AllowsWhatComputingTakes) {
  for (const long number : {SYS_read, SYS_write, SYS_openat, SYS_mmap, SYS_brk, SYS_futex,
                            SYS_rt_sigaction, SYS_clock_gettime, SYS_getrandom, SYS_exit_group}) {
    EXPECT_EQ(ask(call(number)), SECCOMP_RET_ALLOW) << number;
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
