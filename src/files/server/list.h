// SPDX-License-Identifier: Apache-2.0
// Lists of what is below a directory.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "files/server/channel.h"

namespace glovebox::files {

// Sends what FileClient::list() returns, in kEntries frames.
Result<void> list(std::string_view path, std::uint32_t depth, Channel& channel);

}  // namespace glovebox::files
