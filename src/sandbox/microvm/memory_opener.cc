// SPDX-License-Identifier: Apache-2.0
// Loaded into QEMU (LD_PRELOAD, ld.so(8)) in every clone of a machine: opens the template's memory
// for reading, though QEMU asks for writing too, and maps it privately, though QEMU asks for
// sharing. So the clone's writes are its own, and QEMU still takes the memory for that of a file,
// which it need not put into the state of a machine that is saved. QEMU would also cut memory that
// the machine no longer uses out of that file: it is enough that it drops the clone's own pages, in
// place of which the template's appear again.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "sandbox/microvm/template_files.h"

namespace {

int memory_fd = -1;

int open_file(const char* path, int flags, mode_t mode) {
  const bool is_memory = std::strcmp(path, glovebox::microvm::kTemplateMemory) == 0;
  if (is_memory) {
    flags = (flags & ~O_ACCMODE) | O_RDONLY;
  }
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (is_memory) {
    memory_fd = fd;
  }
  return fd;
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

// What glibc's headers turn open() into with checks at run time (_FORTIFY_SOURCE).
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is glibc's.
[[gnu::visibility("default")]] int __open64_2(const char* path, int flags) {
  return open_file(path, flags, 0);
}

[[gnu::visibility("default")]] void* mmap64(
    void* at, size_t size, int protection, int flags, int fd, off64_t offset) noexcept {
  if (fd >= 0 && fd == memory_fd) {
    flags = (flags & ~(MAP_TYPE | MAP_SYNC)) | MAP_PRIVATE;
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, size, protection, flags, fd, offset));
}

[[gnu::visibility("default")]] int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
  return fd >= 0 && fd == memory_fd
             ? 0
             : static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, size));
}
}
