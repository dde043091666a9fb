// SPDX-License-Identifier: Apache-2.0
// Changes below a directory, by inotify(7).
#pragma once

#include <string_view>

#include "base/result.h"
#include "files/server/channel.h"

namespace glovebox::files {

// Sends kStarted, then kEvents frames until the client ends the watch. kNotFound when the directory
// itself is removed, kExhausted when more happened than the kernel remembers.
Result<void> watch(std::string_view path, bool recursive, Channel& channel);

}  // namespace glovebox::files
