// SPDX-License-Identifier: Apache-2.0
// A data directory serves one daemon and one keeper at a time.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// Locks DIRECTORY/ROLE.lock until the descriptor is closed, at the latest by the end of the process
// (flock(2)). kConflict if another process still holds it after `patience`: a killed process holds
// it until the last child that it was about to start is gone, too.
Result<UniqueFd> lock_directory(const std::string& directory,
                                std::string_view role,
                                std::chrono::milliseconds patience);

}  // namespace glovebox
