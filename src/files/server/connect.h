// SPDX-License-Identifier: Apache-2.0
// Connections to what listens inside the sandbox.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::files {

// Connects to a port of 127.0.0.1, or of ::1 if nobody listens there: "localhost" means either.
Result<UniqueFd> connect_to(std::uint16_t port);

}  // namespace glovebox::files
