// SPDX-License-Identifier: Apache-2.0
// Files in memory, for what goes to another process as a descriptor.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string_view>

#include "base/result.h"
#include "base/sys/write_all.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// A file that reads as these bytes, from its beginning; closed on exec.
inline Result<UniqueFd> memory_file(std::string_view bytes = {}) {
  UniqueFd file(::memfd_create("glovebox", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), bytes) || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return Error::from_errno("create a file in memory");
  }
  return file;
}

}  // namespace glovebox::sys
