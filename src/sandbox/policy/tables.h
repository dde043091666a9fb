// SPDX-License-Identifier: Apache-2.0
// The tables behind the policies: which calls are refused, with which errno, and why.
//
// Numbers come from <sys/syscall.h>; calls newer than Debian 12's headers are given by number
// (arch/x86/entry/syscalls/syscall_64.tbl, Linux 6.18).
#pragma once

#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sandbox/policy/compiler.h"

#if !defined(__x86_64__)
#error "the system call tables are written for x86-64 only"
#endif

namespace glovebox::policy {

// The highest number that somebody here has looked at. What comes later does not exist for a
// guest until it was reviewed.
inline constexpr std::uint32_t kLastReviewed = 469;

struct Group {
  std::string_view name;
  Answer answer;
  std::string_view why;
  std::initializer_list<std::uint32_t> calls;
};

namespace newer {
inline constexpr std::uint32_t kFchmodat2 = 452;
inline constexpr std::uint32_t kMapShadowStack = 453;
inline constexpr std::uint32_t kStatmount = 457;
inline constexpr std::uint32_t kListmount = 458;
inline constexpr std::uint32_t kLsmSetSelfAttr = 460;
inline constexpr std::uint32_t kSetxattrat = 463;
inline constexpr std::uint32_t kGetxattrat = 464;
inline constexpr std::uint32_t kListxattrat = 465;
inline constexpr std::uint32_t kRemovexattrat = 466;
inline constexpr std::uint32_t kOpenTreeAttr = 467;
inline constexpr std::uint32_t kFileGetattr = 468;
inline constexpr std::uint32_t kFileSetattr = 469;
}  // namespace newer

// Tables are easier to read with one column for each thing.
// clang-format off

// Groups of the default policy. Everything else up to kLastReviewed is allowed.
inline constexpr std::initializer_list<std::uint32_t> kIoUring = {
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register};
inline constexpr std::initializer_list<std::uint32_t> kAio = {
    SYS_io_setup,     SYS_io_destroy, SYS_io_submit, SYS_io_cancel,
    SYS_io_getevents, SYS_io_pgetevents};
inline constexpr std::initializer_list<std::uint32_t> kClone3 = {SYS_clone3};
inline constexpr std::initializer_list<std::uint32_t> kNamespaces = {SYS_unshare, SYS_setns};
inline constexpr std::initializer_list<std::uint32_t> kMounts = {
    SYS_mount,   SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree,     newer::kOpenTreeAttr,
    SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr,
    newer::kStatmount, newer::kListmount};
inline constexpr std::initializer_list<std::uint32_t> kKeyrings = {
    SYS_add_key, SYS_request_key, SYS_keyctl};
inline constexpr std::initializer_list<std::uint32_t> kTracing = {
    SYS_bpf,  SYS_perf_event_open, SYS_ptrace,          SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_kcmp, SYS_pidfd_getfd,     SYS_process_madvise, SYS_lookup_dcookie};
inline constexpr std::initializer_list<std::uint32_t> kMemoryTricks = {
    SYS_userfaultfd, SYS_memfd_secret, newer::kMapShadowStack};
inline constexpr std::initializer_list<std::uint32_t> kPlacement = {
    SYS_move_pages, SYS_migrate_pages, SYS_mbind, SYS_set_mempolicy, SYS_set_mempolicy_home_node};
inline constexpr std::initializer_list<std::uint32_t> kHandles = {SYS_open_by_handle_at,
                                                                  SYS_name_to_handle_at};
inline constexpr std::initializer_list<std::uint32_t> kKernelControl = {
    SYS_init_module,   SYS_finit_module, SYS_delete_module, SYS_create_module, SYS_query_module,
    SYS_get_kernel_syms, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot,      SYS_swapon,
    SYS_swapoff,       SYS_acct,         SYS_quotactl,      SYS_quotactl_fd,   SYS_syslog,
    SYS_iopl,          SYS_ioperm,       SYS_modify_ldt,    SYS_uselib,        SYS_ustat,
    SYS_sysfs,         SYS__sysctl,      SYS_nfsservctl,    SYS_vhangup,       SYS_sethostname,
    SYS_setdomainname, newer::kLsmSetSelfAttr};
inline constexpr std::initializer_list<std::uint32_t> kClocks = {
    SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex};
inline constexpr std::initializer_list<std::uint32_t> kWatching = {SYS_fanotify_init,
                                                                   SYS_fanotify_mark};
inline constexpr std::initializer_list<std::uint32_t> kSharedIpc = {
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt,  SYS_semget,  SYS_semop, SYS_semctl, SYS_semtimedop,
    SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink};
inline constexpr std::initializer_list<std::uint32_t> kReaching = {SYS_connect};

inline constexpr std::array kDefaultGroups = {
    Group{"io_uring", refuse(ENOSYS), "A second system call interface that no filter sees.", kIoUring},
    Group{"asynchronous I/O", refuse(ENOSYS),
          "Its requests are a number for the whole host, which one guest could use up.", kAio},
    Group{"clone3", refuse(ENOSYS),
          "Its flags lie behind a pointer that a filter cannot read; libc falls back to clone.",
          kClone3},
    Group{"clone", examine(Check::kClone),
          "New namespaces give capabilities over copies of ours; shared descriptors hide locks.",
          {SYS_clone}},
    Group{"namespaces", refuse(EPERM), "As clone; setns also reaches into other sandboxes.",
          kNamespaces},
    Group{"mounts", refuse(EPERM), "A guest that can mount can peel off a read-only bind.", kMounts},
    Group{"keyrings", refuse(ENOSYS), "Keys are not in a namespace of their own.", kKeyrings},
    Group{"tracing", refuse(EPERM), "Reads and steers other processes and the kernel.", kTracing},
    Group{"memory tricks", refuse(ENOSYS), "They widen races in the kernel.", kMemoryTricks},
    Group{"placement", refuse(EPERM), "Moves memory between nodes, a tool of several exploits.",
          kPlacement},
    Group{"handles", refuse(EPERM), "Opens a file by number, past every mount.", kHandles},
    Group{"kernel control", refuse(EPERM), "Changes the machine.", kKernelControl},
    Group{"clocks", refuse(EPERM), "There is one clock for the host and everybody.", kClocks},
    Group{"watching", refuse(EPERM), "Sees what others do with files.", kWatching},
    Group{"socket", examine(Check::kSocket),
          "Other families and protocols are attack surface without use here, and load modules.",
          {SYS_socket, SYS_socketpair}},
    Group{"ioctl", examine(Check::kIoctl),
          "Types into the terminal that Glovebox was started from; line disciplines load modules.",
          {SYS_ioctl}},
    Group{"setsockopt", examine(Check::kSetsockopt),
          "UDP_ENCAP and TCP_ULP led to page cache writes; BPF code and keys of connections are charged "
          "to nobody, and flow labels are a number for the whole host.",
          {SYS_setsockopt}},
    Group{"seccomp", examine(Check::kSeccomp), "A listener could answer in place of the kernel.",
          {SYS_seccomp}},
    Group{"personality", examine(Check::kPersonality), "Some switch off protections.",
          {SYS_personality}},
    Group{"prctl", examine(Check::kPrctl), "Pages that are merged with others' tell what those hold.",
          {SYS_prctl}},
    Group{"fcntl", examine(Check::kFcntl),
          "Locks of open file descriptions have no owner who could be held to a limit.", {SYS_fcntl}},
    Group{"mmap", examine(Check::kMmap), "The host's reserved huge pages are charged to nobody.",
          {SYS_mmap}},
    Group{"memfd_create", examine(Check::kMemfd), "As mmap.", {SYS_memfd_create}},
    Group{"madvise", examine(Check::kMadvise), "As prctl: a range of pages instead of all.",
          {SYS_madvise}},
    Group{"flushing all", refuse(0), "Does nothing: it would write out all of the host's disks.",
          {SYS_sync}},
    Group{"flushing a file system", refuse(ENOSYS), "As sync, for the disk below /usr.", {SYS_syncfs}},
    Group{"limits", examine(Check::kNotFirst), "The warden has the guest's uid, so its limits could be taken.",
          {SYS_prlimit64}},
};

// The calls that a filter with a listener reports (watched.h), with their names: refused calls that
// no honest program makes often. The other calls that the default refuses are ones that programs
// try and do without, or that come with every thread: asking would only slow programs down.
struct WatchedName {
  std::uint32_t number;
  std::string_view name;
};
inline constexpr auto kWatchedRefusals = std::to_array<WatchedName>({
    {SYS_unshare, "unshare"}, {SYS_setns, "setns"}, {SYS_mount, "mount"},
    {SYS_umount2, "umount2"}, {SYS_pivot_root, "pivot_root"}, {SYS_chroot, "chroot"},
    {SYS_open_tree, "open_tree"}, {newer::kOpenTreeAttr, "open_tree_attr"},
    {SYS_move_mount, "move_mount"}, {SYS_fsopen, "fsopen"}, {SYS_fsconfig, "fsconfig"},
    {SYS_fsmount, "fsmount"}, {SYS_fspick, "fspick"}, {SYS_mount_setattr, "mount_setattr"},
    {newer::kStatmount, "statmount"}, {newer::kListmount, "listmount"}, {SYS_add_key, "add_key"},
    {SYS_request_key, "request_key"}, {SYS_keyctl, "keyctl"}, {SYS_bpf, "bpf"},
    {SYS_perf_event_open, "perf_event_open"}, {SYS_ptrace, "ptrace"},
    {SYS_process_vm_readv, "process_vm_readv"}, {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_kcmp, "kcmp"}, {SYS_pidfd_getfd, "pidfd_getfd"},
    {SYS_process_madvise, "process_madvise"}, {SYS_lookup_dcookie, "lookup_dcookie"},
    {SYS_userfaultfd, "userfaultfd"}, {SYS_memfd_secret, "memfd_secret"},
    {newer::kMapShadowStack, "map_shadow_stack"}, {SYS_open_by_handle_at, "open_by_handle_at"},
    {SYS_name_to_handle_at, "name_to_handle_at"}, {SYS_init_module, "init_module"},
    {SYS_finit_module, "finit_module"}, {SYS_delete_module, "delete_module"},
    {SYS_create_module, "create_module"}, {SYS_query_module, "query_module"},
    {SYS_get_kernel_syms, "get_kernel_syms"}, {SYS_kexec_load, "kexec_load"},
    {SYS_kexec_file_load, "kexec_file_load"}, {SYS_reboot, "reboot"}, {SYS_swapon, "swapon"},
    {SYS_swapoff, "swapoff"}, {SYS_acct, "acct"}, {SYS_quotactl, "quotactl"},
    {SYS_quotactl_fd, "quotactl_fd"}, {SYS_syslog, "syslog"}, {SYS_iopl, "iopl"},
    {SYS_ioperm, "ioperm"}, {SYS_modify_ldt, "modify_ldt"}, {SYS_uselib, "uselib"},
    {SYS_sysfs, "sysfs"}, {SYS__sysctl, "_sysctl"}, {SYS_nfsservctl, "nfsservctl"},
    {SYS_vhangup, "vhangup"}, {SYS_sethostname, "sethostname"},
    {SYS_setdomainname, "setdomainname"}, {newer::kLsmSetSelfAttr, "lsm_set_self_attr"},
    {SYS_settimeofday, "settimeofday"}, {SYS_clock_settime, "clock_settime"},
    {SYS_clock_adjtime, "clock_adjtime"}, {SYS_adjtimex, "adjtimex"},
    {SYS_fanotify_init, "fanotify_init"}, {SYS_fanotify_mark, "fanotify_mark"},
    {SYS_io_uring_setup, "io_uring_setup"}});

// Besides these, clone(2) with a namespace, and calls that start programs, which continue.
inline constexpr std::array kWatchedGroups = {
    Group{"clone", examine(Check::kCloneWatched), "As in the default policy.", {SYS_clone}},
    Group{"programs", ask(), "The listener writes down what is started, and lets it go on.",
          {SYS_execve, SYS_execveat}},
};

// For the fork of a watched zygote, on top of the zygote's own watched filter: an errno here would
// win over the question there. The zygote's filter is never taken off.
inline constexpr std::array kWatchedForkGroups = {
    Group{"clone", examine(Check::kCloneNested), "The zygote's filter asks about namespaces.",
          {SYS_clone}},
    Group{"setns", refuse(EPERM), "The zygote's filter allows it, so nobody is asked.", {SYS_setns}},
};

// What a root guest may do beyond the default policy (capabilities.h says what else it may).
inline constexpr std::array kRootGroups = {
    Group{"changing root", allow(),
          "Services lock themselves up; what there is to escape to is the sandbox's own root.",
          {SYS_chroot}},
};

// If guests bring sandboxes of their own (SandboxSpec::nested): a process of theirs has all
// capabilities over the namespaces that it makes, and the kernel confines them to these.
inline constexpr std::array kNestedGroups = {
    Group{"clone", examine(Check::kCloneNested), "As in the default policy, but for namespaces.",
          {SYS_clone}},
    Group{"namespaces", examine(Check::kUnshare), "As clone; setns stays refused.", {SYS_unshare}},
    Group{"mounts", allow(),
          "In mount namespaces of theirs, where what they got from ours is locked as it is.",
          {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot}},
    Group{"other ways to mount", refuse(ENOSYS),
          "Attack surface that these tools do without: libmount falls back to mount.",
          {SYS_open_tree, newer::kOpenTreeAttr, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount,
           SYS_fspick, SYS_mount_setattr, newer::kStatmount, newer::kListmount}},
    Group{"names", allow(), "Of the host name's namespaces of theirs.",
          {SYS_sethostname, SYS_setdomainname}},
};

// Calls that gVisor answers wrongly, and so are refused if it is the guests' kernel.
inline constexpr std::array kOwnKernelGroups = {
    Group{"attributes of links", refuse(EOPNOTSUPP),
          "gVisor (2024) fails with EBADF for files of the host, which ls(1) takes for an error.",
          {SYS_lgetxattr, SYS_llistxattr}},
    Group{"mknod", examine(Check::kNoDevice),
          "gVisor (2024) lets anybody make devices. They are its own, not the host's.", {SYS_mknod}},
    Group{"mknodat", examine(Check::kNoDeviceAt), "Likewise.", {SYS_mknodat}},
};

// What the landlock tier refuses on top: without namespaces these reach the host.
inline constexpr std::array kNoNamespacesGroups = {
    Group{"shared IPC", refuse(EPERM), "System V IPC and message queues of the whole host.",
          kSharedIpc},
    Group{"reaching", refuse(EPERM), "Sockets of the host's services.", kReaching},
    Group{"socket", examine(Check::kSocketLocal),
          "No network without a network namespace; and no datagrams, which need no connect to reach "
          "the host.",
          {SYS_socket, SYS_socketpair}},
    Group{"others", examine(Check::kSelfOnly), "Limits and processors of the user's other processes.",
          {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setparam, SYS_sched_setscheduler,
           SYS_sched_setattr}},
    Group{"priority", examine(Check::kPriority), "Priorities of the user's other processes.",
          {SYS_setpriority}},
    Group{"I/O priority", examine(Check::kIoPriority), "Likewise.", {SYS_ioprio_set}},
    Group{"clocks of others", examine(Check::kOwnClock),
          "The processor time of any process of the host, to the nanosecond.",
          {SYS_clock_gettime, SYS_clock_nanosleep, SYS_timer_create}},
    Group{"file watching", refuse(EPERM), "Tells what others do with files; Landlock lets it by.",
          {SYS_inotify_init, SYS_inotify_init1, SYS_inotify_add_watch}},
    Group{"fcntl", examine(Check::kFcntlLocal), "Likewise, and as in the default policy.",
          {SYS_fcntl}},
    Group{"attributes", refuse(EOPNOTSUPP),
          "Extended attributes of files outside, which Landlock lets by.",
          {SYS_getxattr, SYS_lgetxattr, SYS_listxattr, SYS_llistxattr, newer::kGetxattrat,
           newer::kListxattrat, newer::kFileGetattr}},
};

// What it also refuses if the guest has the caller's own uid: Landlock does not cover the metadata
// of files, which their owner may change anywhere. Changing it through a descriptor is allowed,
// because that needs an open that Landlock has checked.
inline constexpr std::array kSharedUserGroups = {
    Group{"metadata", refuse(EPERM), "Modes, owners, times and attributes of the user's other files.",
          {SYS_chmod, SYS_fchmodat, newer::kFchmodat2, SYS_chown, SYS_lchown, SYS_fchownat, SYS_utime,
           SYS_utimes, SYS_futimesat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr, SYS_lremovexattr,
           newer::kSetxattrat, newer::kRemovexattrat, newer::kFileSetattr}},
    Group{"times", examine(Check::kNoPath), "Likewise.", {SYS_utimensat}},
};

// What each guest gets on top of its warden's filter, so that guests cannot fill the kernel's
// budget for BPF code, which the whole host shares.
inline constexpr std::array kGuestGroups = {
    Group{"filters", refuse(EINVAL), "BPF code is charged to nobody, and its budget is the host's.",
          {SYS_seccomp}},
    Group{"prctl", examine(Check::kPrctlFilter), "Likewise, and as in the default policy.",
          {SYS_prctl}},
};

// If guests may not start what they have written.
inline constexpr std::array kNoMemoryProgramsGroups = {
    Group{"programs in memory", examine(Check::kMemfdNoexec), "A file in memory has no mount and no rule of Landlock's.",
          {SYS_memfd_create}},
};

// If no cgroup counts memory.
inline constexpr std::array kNoHiddenMemoryGroups = {
    Group{"hidden memory", refuse(ENOSYS), "Without a mount or a process that has it mapped, nobody finds these pages.",
          {SYS_memfd_create, SYS_shmget, SYS_semget, SYS_msgget}},
};

// What a zygote may do beyond the default policy. Its forks put the default on top before any code
// of a guest runs, and a filter once installed is never taken off.
inline constexpr std::array kZygoteGroups = {
    Group{"entering", allow(), "Puts the forks of a zygote into their sandboxes and cgroups.",
          {SYS_setns, SYS_clone3}},
    Group{"prctl", examine(Check::kPrctlFilter), "As for every guest; forks filter by seccomp(2).",
          {SYS_prctl}},
};

// The allow-list of the strict policy: what compiled C, C++, Rust, Go and the plain interpreters
// need to compute, to use files and threads and to write their answer.
inline constexpr std::array kStrictGroups = {
    Group{"files", allow(), "Files below the current root.",
          {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv,
           SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_open, SYS_openat, SYS_openat2, SYS_creat,
           SYS_close, SYS_close_range, SYS_lseek, SYS_stat, SYS_fstat, SYS_lstat, SYS_newfstatat,
           SYS_statx, SYS_statfs, SYS_fstatfs, SYS_access, SYS_faccessat, SYS_faccessat2, SYS_dup,
           SYS_dup2, SYS_dup3, SYS_pipe, SYS_pipe2, SYS_fcntl, SYS_flock, SYS_fsync, SYS_fdatasync,
           SYS_truncate, SYS_ftruncate, SYS_fallocate, SYS_getdents, SYS_getdents64, SYS_getcwd,
           SYS_chdir, SYS_fchdir, SYS_rename, SYS_renameat, SYS_renameat2, SYS_mkdir, SYS_mkdirat,
           SYS_rmdir, SYS_link, SYS_linkat, SYS_unlink, SYS_unlinkat, SYS_symlink, SYS_symlinkat,
           SYS_readlink, SYS_readlinkat, SYS_chmod, SYS_fchmod, SYS_fchmodat, SYS_umask,
           SYS_utimensat, SYS_utimes, SYS_utime, SYS_futimesat, SYS_sendfile, SYS_copy_file_range,
           SYS_fadvise64, SYS_sync_file_range, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr}},
    Group{"memory", allow(), "Address space.",
          {SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise, SYS_msync,
           SYS_mincore, SYS_mlock, SYS_mlock2, SYS_munlock, SYS_membarrier, SYS_memfd_create,
           SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect, SYS_get_mempolicy}},
    Group{"threads", allow(), "Threads and what libc starts with.",
          {SYS_futex, SYS_set_robust_list, SYS_get_robust_list, SYS_set_tid_address, SYS_rseq,
           SYS_gettid, SYS_getpid, SYS_getppid, SYS_tgkill, SYS_tkill, SYS_kill, SYS_exit,
           SYS_exit_group, SYS_arch_prctl, SYS_sched_yield, SYS_sched_getaffinity,
           SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_getscheduler,
           SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getcpu, SYS_restart_syscall}},
    Group{"prctl", examine(Check::kPrctlFilter), "As for every guest.", {SYS_prctl}},
    Group{"processes", allow(), "Children; judges bound their number.",
          {SYS_fork, SYS_vfork, SYS_execve, SYS_execveat, SYS_wait4, SYS_waitid, SYS_setpgid,
           SYS_getpgid, SYS_getpgrp, SYS_setsid, SYS_getsid, SYS_getpriority, SYS_pidfd_open,
           SYS_pidfd_send_signal}},
    Group{"clone", examine(Check::kClone), "As in the default policy.", {SYS_clone}},
    Group{"clone3", refuse(ENOSYS), "As in the default policy.", {SYS_clone3}},
    Group{"signals", allow(), "Signals within the sandbox.",
          {SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending,
           SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_rt_sigqueueinfo, SYS_sigaltstack, SYS_pause,
           SYS_alarm, SYS_setitimer, SYS_getitimer, SYS_signalfd, SYS_signalfd4}},
    Group{"time", allow(), "Clocks and timers.",
          {SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
           SYS_time, SYS_times, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime,
           SYS_timer_getoverrun, SYS_timer_delete, SYS_timerfd_create, SYS_timerfd_settime,
           SYS_timerfd_gettime}},
    Group{"waiting", allow(), "Event loops.",
          {SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create, SYS_epoll_create1,
           SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_eventfd,
           SYS_eventfd2}},
    Group{"pairs", allow(), "Pairs of sockets, with which runtimes talk to their own children.",
          {SYS_socketpair, SYS_recvfrom, SYS_recvmsg, SYS_sendmsg, SYS_shutdown, SYS_getsockopt}},
    Group{"identity", allow(), "Questions about oneself.",
          {SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getgroups, SYS_getresuid,
           SYS_getresgid, SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_getrlimit, SYS_prlimit64,
           SYS_setrlimit, SYS_getrusage, SYS_capget}},
    Group{"ioctl", examine(Check::kIoctl), "As in the default policy.", {SYS_ioctl}},
};

// The allow-list of the program that runs WebAssembly modules: its library's start, its compiler and
// files, in one thread. It puts the two below on top before a module can run.
inline constexpr std::array kRunnerGroups = {
    Group{"files", allow(), "Files below the directories that a module is given.",
          {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv,
           SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_openat, SYS_openat2, SYS_close, SYS_lseek,
           SYS_fstat, SYS_newfstatat, SYS_statx, SYS_access, SYS_faccessat, SYS_faccessat2,
           SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_fallocate, SYS_fadvise64, SYS_getdents64,
           SYS_mkdirat, SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_linkat, SYS_symlinkat,
           SYS_readlink, SYS_readlinkat, SYS_utimensat}},
    Group{"fcntl", examine(Check::kFcntl), "As in the default policy.", {SYS_fcntl}},
    Group{"ioctl", examine(Check::kIoctl), "As in the default policy.", {SYS_ioctl}},
    Group{"memory", allow(), "Address space.",
          {SYS_mprotect, SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise}},
    Group{"mmap", examine(Check::kMmap), "As in the default policy.", {SYS_mmap}},
    Group{"memfd_create", examine(Check::kMemfd), "Images of memory, copied on write.",
          {SYS_memfd_create}},
    Group{"thread", allow(), "What libc starts with; there is one thread.",
          {SYS_futex, SYS_set_robust_list, SYS_set_tid_address, SYS_rseq, SYS_gettid, SYS_getpid,
           SYS_tgkill, SYS_exit, SYS_exit_group, SYS_arch_prctl, SYS_sched_yield,
           SYS_sched_getaffinity, SYS_restart_syscall}},
    Group{"signals", allow(), "Traps are signals that the runner handles.",
          {SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack}},
    Group{"time", allow(), "Clocks and sleep.",
          {SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep,
           SYS_gettimeofday}},
    Group{"waiting", allow(), "For input, output and time.", {SYS_poll, SYS_ppoll}},
    Group{"randomness", allow(), "Random numbers.", {SYS_getrandom}},
    Group{"limits", examine(Check::kNotFirst), "As in the default policy.", {SYS_prlimit64}},
    Group{"start", allow(), "Of the runner itself; refused from then on.", {SYS_execve}},
    Group{"seccomp", examine(Check::kSeccomp), "For the two below; refused from then on.",
          {SYS_seccomp}},
    Group{"prctl", examine(Check::kPrctlFilter), "As for every guest.", {SYS_prctl}},
};

// What it gives up before it reads a module.
inline constexpr std::array kNoProgramsGroups = {
    Group{"programs", refuse(EPERM), "There is none to start.", {SYS_execve, SYS_execveat}},
};

// What it gives up when the module is compiled.
inline constexpr std::array kNoNewCodeGroups = {
    Group{"code", examine(Check::kNoCode), "All code is there.", {SYS_mmap, SYS_mprotect}},
    Group{"filters", refuse(EINVAL), "BPF code is charged to nobody.", {SYS_seccomp}},
};
// clang-format on

}  // namespace glovebox::policy
