// SPDX-License-Identifier: Apache-2.0
// Descriptors that a guest made and passed to us.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::files {

// Closes descriptors of any kind, and returns at once. Closing the last one of a connection waits
// for its peer if the guest asked for that (SO_LINGER, socket(7)): so that is switched off first,
// and because the guest may set it again through a copy, a thread of its own does the closing.
void close_foreign(std::vector<UniqueFd>& descriptors);

// Checks for a regular file that can be read, in a file system that holds data: reading or querying
// it neither waits for anybody nor shows what we may see and the guest may not.
Result<void> check_file(int fd);

// Checks for a connected TCP socket.
Result<void> check_connection(int fd);

}  // namespace glovebox::files
