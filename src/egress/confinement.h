// SPDX-License-Identifier: Apache-2.0
// What the proxy gives up before it accepts a connection.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace glovebox::egress {

// As root, becomes this user and group, with no other (zero: stays who it is). To be called first.
Result<void> take_identity(std::uint32_t identity);

// Leaves this process its standard descriptors, memory, and sockets for TCP and UDP: no files, no
// other socket families, no processes, no capabilities. Irrevocable; one that fails has to end.
// Requires a single thread.
Result<void> confine();

}  // namespace glovebox::egress
