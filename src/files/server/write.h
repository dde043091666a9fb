// SPDX-License-Identifier: Apache-2.0
// Writing one file.
#pragma once

#include <string_view>

#include "base/result.h"
#include "files/protocol.h"
#include "files/server/place.h"
#include "files/server/upload.h"

namespace glovebox::files {

// Names under which a finished file lies for the moment before it takes its place. A watch knows
// them, and tells of a plain write instead.
inline constexpr std::string_view kNewPrefix = ".glovebox-new-";           // Where nothing was.
inline constexpr std::string_view kReplacedPrefix = ".glovebox-written-";  // Where a file was.

// As FileClient::write(). Returns where the file lies.
Result<Place> write_file(const Order& order, Upload& upload);

// A file in a directory that has no name, or had one only for a moment; opened for both.
Result<UniqueFd> nameless_file(int directory_fd);

}  // namespace glovebox::files
