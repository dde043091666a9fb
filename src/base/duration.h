// SPDX-License-Identifier: Apache-2.0
// Durations as people and configuration files write them.
#pragma once

#include <chrono>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// Reads "250ms", "30s", "1.5m", "2h"; a bare number is seconds. Fails with kInvalid on anything
// else and beyond one year.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace glovebox
