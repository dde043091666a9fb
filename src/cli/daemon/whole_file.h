// SPDX-License-Identifier: Apache-2.0
// Writes files of the caller as a whole, or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "doors/transport/client.h"

namespace glovebox::cli {

// Makes or replaces the file at `place` with what `write` writes to its descriptor. Until `write`
// has succeeded, the new file has another name; if it fails, that file is removed.
Result<void> write_whole_file(const std::string& place,
                              const std::function<Result<void>(int fd)>& write);

// Copies an answer's body to a descriptor. Calls `on_piece` with the size of each piece before
// writing it; its error ends the copy. `cannot_write` says whether the descriptor caused a failure.
Result<void> copy_body(http::ClientAnswer& answer,
                       int fd,
                       const std::function<Result<void>(std::uint64_t size)>& on_piece,
                       bool& cannot_write);

// Saves an answer's body as the file at `place`, whole or not at all; '-' is standard output.
// `shows_progress`: on standard error.
Result<void> save_body(http::ClientAnswer& answer, const std::string& place, bool shows_progress);

}  // namespace glovebox::cli
