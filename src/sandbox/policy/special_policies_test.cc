// SPDX-License-Identifier: Apache-2.0
// Policies that are not the default, by what each refuses or allows more.
#include "sandbox/policy/policy.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

#include <gtest/gtest.h>

#include "sandbox/policy/filter_answer.h"

namespace glovebox::policy {
namespace {

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

}  // namespace
}  // namespace glovebox::policy
