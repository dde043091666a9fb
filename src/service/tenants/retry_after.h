// SPDX-License-Identifier: Apache-2.0
// Errors that tell the client when to come back, for Retry-After (RFC 9110, 10.2.3).
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"

namespace glovebox {

// kExhausted with Error::retry_after(): at least one second, at most an hour. The hint says the
// same to people.
Error exhausted(std::string message, std::chrono::nanoseconds retry_in);

}  // namespace glovebox
