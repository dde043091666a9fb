// SPDX-License-Identifier: Apache-2.0
// Errors that tell the client when to come back, for Retry-After (RFC 9110, 10.2.3).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"

namespace glovebox {

// kExhausted, with the seconds (at least one, at most an hour) in its hint.
Error exhausted(std::string message, std::chrono::nanoseconds retry_in);

// The seconds in the hint of an error that exhausted() made.
std::optional<std::chrono::seconds> retry_after(const Error& error);

}  // namespace glovebox
