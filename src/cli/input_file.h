// SPDX-License-Identifier: Apache-2.0
// Input that the caller names: a file, or "-" for our standard input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::cli {

inline constexpr std::string_view kStandardInput = "-";

// The file at `path`, or a duplicate of standard input. kInvalid if it cannot be opened, or is a
// directory.
Result<UniqueFd> open_input(const std::string& path);

// Reads `fd` to its end. `path` is for messages; kInvalid if there are more than `most` bytes, with
// `hint` for what to do then.
Result<std::string> read_whole_input(int fd,
                                     const std::string& path,
                                     std::size_t most,
                                     const std::string& hint);

// Opens `path` and reads it.
Result<std::string> read_whole_input(const std::string& path,
                                     std::size_t most,
                                     const std::string& hint);

}  // namespace glovebox::cli
