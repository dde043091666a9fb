// SPDX-License-Identifier: Apache-2.0
// Files below a directory whose content somebody else decides about.
//
// A path is walked from the directory's own descriptor without following a single link and without
// ever leaving it (openat2(2), RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS), so
// no swap and no race can lead elsewhere. A kernel without that call (gVisor, Linux before 5.6) is
// asked for one component at a time, which is slower but as safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// Opens `path` below `directory_fd`. O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK and O_NOCTTY are added to
// `flags`, so that no FIFO can make us wait and no terminal can send us signals.
Result<UniqueFd> open_beneath(int directory_fd,
                              std::string_view path,
                              int flags,
                              std::uint32_t mode = 0);

// Makes the directories in front of the last component of `path`, mode 0755.
Result<void> make_parents_beneath(int directory_fd, std::string_view path);

}  // namespace glovebox::sys
