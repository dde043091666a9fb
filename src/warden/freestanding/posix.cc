// SPDX-License-Identifier: Apache-2.0
// The functions of POSIX and Linux that the warden calls, each one system call: the same sources
// thus build with libc and without.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>

#include "base/sys/raw.h"

namespace {

using glovebox::sys::raw;

constexpr std::size_t kKernelSignals = 8;  // Bytes of a signal set, in the kernel's eyes.

int last_error = 0;

// The kernel's answer as libc gives it.
template <typename T = int>
T answer(long result) {
  if (result < 0) {
    last_error = static_cast<int>(-result);
    return static_cast<T>(-1);
  }
  return static_cast<T>(result);
}

struct Description {
  int error;
  const char* text;
};
// The errors of file operations on behalf of a user; the rest is told by number.
constexpr std::array<Description, 16> kDescriptions = {{
    {EPERM, "Operation not permitted"},
    {ENOENT, "No such file or directory"},
    {EIO, "Input/output error"},
    {EACCES, "Permission denied"},
    {EEXIST, "File exists"},
    {EXDEV, "Invalid cross-device link"},
    {ENOTDIR, "Not a directory"},
    {EISDIR, "Is a directory"},
    {EINVAL, "Invalid argument"},
    {EMFILE, "Too many open files"},
    {ETXTBSY, "Text file busy"},
    {EFBIG, "File too large"},
    {ENOSPC, "No space left on device"},
    {EROFS, "Read-only file system"},
    {ENAMETOOLONG, "File name too long"},
    {ELOOP, "Too many levels of symbolic links"},
}};

}  // namespace

extern "C" {

int* __errno_location() noexcept { return &last_error; }

const char* strerrordesc_np(int error) noexcept {
  for (const Description& each : kDescriptions) {
    if (each.error == error) {
      return each.text;
    }
  }
  return nullptr;
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return answer(raw(SYS_openat, AT_FDCWD, path, flags, mode));
}
int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return answer(raw(SYS_openat, directory, path, flags, mode));
}
int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return answer(raw(SYS_ioctl, fd, request, argument));
}
int close(int fd) { return answer(raw(SYS_close, fd)); }
ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return answer<ssize_t>(raw(SYS_recvmsg, fd, message, flags));
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return answer<ssize_t>(raw(SYS_sendmsg, fd, message, flags));
}
ssize_t read(int fd, void* to, std::size_t size) {
  return answer<ssize_t>(raw(SYS_read, fd, to, size));
}
ssize_t write(int fd, const void* from, std::size_t size) {
  return answer<ssize_t>(raw(SYS_write, fd, from, size));
}
ssize_t pread(int fd, void* to, std::size_t size, off_t at) {
  return answer<ssize_t>(raw(SYS_pread64, fd, to, size, at));
}
ssize_t pwrite(int fd, const void* from, std::size_t size, off_t at) {
  return answer<ssize_t>(raw(SYS_pwrite64, fd, from, size, at));
}
off_t lseek(int fd, off_t at, int from) noexcept {
  return answer<off_t>(raw(SYS_lseek, fd, at, from));
}
ssize_t copy_file_range(
    int from, off_t* from_at, int to, off_t* to_at, std::size_t size, unsigned flags) {
  return answer<ssize_t>(raw(SYS_copy_file_range, from, from_at, to, to_at, size, flags));
}
int ftruncate(int fd, off_t size) noexcept { return answer(raw(SYS_ftruncate, fd, size)); }
int fallocate(int fd, int mode, off_t at, off_t size) {
  return answer(raw(SYS_fallocate, fd, mode, at, size));
}
int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  const long value = va_arg(more, long);
  va_end(more);
  return answer(raw(SYS_fcntl, fd, command, value));
}
int pipe2(int* ends, int flags) noexcept { return answer(raw(SYS_pipe2, ends, flags)); }
int poll(pollfd* fds, nfds_t count, int timeout) {
  return answer(raw(SYS_poll, fds, count, timeout));
}

int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  return answer(raw(SYS_socketpair, domain, type, protocol, ends));
}
int shutdown(int fd, int how) noexcept { return answer(raw(SYS_shutdown, fd, how)); }
ssize_t send(int fd, const void* from, std::size_t size, int flags) {
  return answer<ssize_t>(raw(SYS_sendto, fd, from, size, flags, nullptr, 0));
}
ssize_t recv(int fd, void* to, std::size_t size, int flags) {
  return answer<ssize_t>(raw(SYS_recvfrom, fd, to, size, flags, nullptr, nullptr));
}

int stat(const char* path, struct stat* status) noexcept {
  return answer(raw(SYS_newfstatat, AT_FDCWD, path, status, 0));
}
int fstat(int fd, struct stat* status) noexcept {
  return answer(raw(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH));
}
int fstatat(int directory, const char* path, struct stat* status, int flags) noexcept {
  return answer(raw(SYS_newfstatat, directory, path, status, flags));
}
int fstatfs(int fd, struct statfs* status) noexcept { return answer(raw(SYS_fstatfs, fd, status)); }
int fchmod(int fd, mode_t mode) noexcept { return answer(raw(SYS_fchmod, fd, mode)); }
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  return answer(raw(SYS_mkdirat, directory, path, mode));
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  return answer(raw(SYS_unlinkat, directory, path, flags));
}
int renameat2(
    int from, const char* old_path, int to, const char* new_path, unsigned flags) noexcept {
  return answer(raw(SYS_renameat2, from, old_path, to, new_path, flags));
}
int symlinkat(const char* target, int directory, const char* path) noexcept {
  return answer(raw(SYS_symlinkat, target, directory, path));
}
ssize_t readlinkat(int directory, const char* path, char* to, std::size_t size) noexcept {
  return answer<ssize_t>(raw(SYS_readlinkat, directory, path, to, size));
}
int futimens(int fd, const timespec* times) noexcept {
  return answer(raw(SYS_utimensat, fd, nullptr, times, 0));
}
mode_t umask(mode_t mask) noexcept { return answer<mode_t>(raw(SYS_umask, mask)); }

pid_t getpid() noexcept { return answer(raw(SYS_getpid)); }
uid_t getuid() noexcept { return answer<uid_t>(raw(SYS_getuid)); }
int prctl(int option, ...) noexcept {
  va_list more;
  va_start(more, option);
  const long second = va_arg(more, long);
  const long third = va_arg(more, long);
  const long fourth = va_arg(more, long);
  const long fifth = va_arg(more, long);
  va_end(more);
  return answer(raw(SYS_prctl, option, second, third, fourth, fifth));
}

int kill(pid_t pid, int number) noexcept { return answer(raw(SYS_kill, pid, number)); }
pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  return answer(raw(SYS_wait4, pid, status, options, usage));
}
// For SIG_DFL and SIG_IGN only: handlers would need a way back.
sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct {
    sighandler_t handler;
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
  } const action = {handler, 0, nullptr, 0};
  return raw(SYS_rt_sigaction, number, &action, nullptr, kKernelSignals) < 0 ? SIG_ERR : SIG_DFL;
}
int sigemptyset(sigset_t* set) noexcept {
  std::memset(set, 0, sizeof *set);
  return 0;
}
int sigaddset(sigset_t* set, int number) noexcept {
  set->__val[0] |= 1UL << (number - 1);
  return 0;
}
int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return answer(raw(SYS_rt_sigprocmask, how, set, old, kKernelSignals));
}
int signalfd(int fd, const sigset_t* mask, int flags) noexcept {
  return answer(raw(SYS_signalfd4, fd, mask, kKernelSignals, flags));
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  return answer(raw(SYS_clock_gettime, clock, now));
}
int timerfd_create(int clock, int flags) noexcept {
  return answer(raw(SYS_timerfd_create, clock, flags));
}
int timerfd_settime(int fd, int flags, const itimerspec* next, itimerspec* previous) noexcept {
  return answer(raw(SYS_timerfd_settime, fd, flags, next, previous));
}

}  // extern "C"
