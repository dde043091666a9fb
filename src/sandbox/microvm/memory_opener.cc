// SPDX-License-Identifier: Apache-2.0
// Loaded into QEMU (LD_PRELOAD, ld.so(8)) in every clone of a machine: opens the template's memory
// for reading, where QEMU asks for writing too. Before its version 8.2 it has no other way to map a
// file privately, and that file is one that no sandbox can write to.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "sandbox/microvm/template_files.h"

namespace {

int open_file(const char* path, int flags, mode_t mode) {
  if (std::strcmp(path, glovebox::microvm::kTemplateMemory) == 0) {
    flags = (flags & ~O_ACCMODE) | O_RDONLY;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  return open_file(path, flags, mode);
}

// What glibc's headers make of open() with checks at run time (_FORTIFY_SOURCE).
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is glibc's.
[[gnu::visibility("default")]] int __open64_2(const char* path, int flags) {
  return open_file(path, flags, 0);
}
}
