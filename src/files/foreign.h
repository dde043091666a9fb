// SPDX-License-Identifier: Apache-2.0
// Descriptors that a guest made and passed to us.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::files {

// Closes descriptors of any kind, and returns at once. Closing the last one of a connection waits
// for its peer if the guest asked for that (SO_LINGER, socket(7)): that is taken away first, and as
// the guest may set it again through a copy, a thread made for it does the closing.
void close_foreign(std::vector<UniqueFd>& descriptors);

// A regular file that can be read, of a file system that holds data: neither a read of it nor a
// question about it waits for somebody, or shows what we may see and the guest may not.
Result<void> check_file(int fd);

// A TCP socket that is connected.
Result<void> check_connection(int fd);

}  // namespace glovebox::files
