// SPDX-License-Identifier: Apache-2.0
// What the proxy gives up before it accepts a connection.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace glovebox::egress {

// As root, becomes this user and group, with no other groups (zero: no change). Call it first.
Result<void> take_identity(std::uint32_t identity);

enum class Reach {
  kOut,   // Sockets for TCP and UDP, to any address.
  kNone,  // Only the sockets that it has, which are the sandbox's: makes none, connects nowhere.
};

// Leaves this process its standard descriptors, memory, and what it may reach: no files, no other
// socket families, no processes, no capabilities. Irrevocable; if it fails, the process must end.
// Requires a single thread.
Result<void> confine(Reach reach);

}  // namespace glovebox::egress
