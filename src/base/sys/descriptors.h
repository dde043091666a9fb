// SPDX-License-Identifier: Apache-2.0
// Descriptors over Unix sockets (unix(7), SCM_RIGHTS).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::sys {

// How many go with one message at most (SCM_MAX_FD of Linux).
inline constexpr std::size_t kMaxPassed = 253;

// As send(2) with MSG_NOSIGNAL and `flags`; the descriptors travel with the first of the bytes.
// Requires: passed.size() <= kMaxPassed, and at least one byte.
ssize_t send_with(int socket, std::string_view bytes, std::span<const int> passed, int flags);

// As recv(2) with `flags`. Appends what came with the bytes, close-on-exec. There is room for all
// that one message can carry.
ssize_t receive_with(int socket, std::span<char> bytes, std::vector<UniqueFd>& passed, int flags);

}  // namespace glovebox::sys
