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
// them, and reports a plain write instead.
inline constexpr std::string_view kNewPrefix = ".glovebox-new-";           // Where nothing was.
inline constexpr std::string_view kReplacedPrefix = ".glovebox-written-";  // Where a file was.

// As FileClient::write(). Returns where the file is.
Result<Place> write_file(const Order& order, Upload& upload);

// A nameless file in a directory, or one named only for a moment; open to read and write.
Result<UniqueFd> nameless_file(int directory_fd);

}  // namespace glovebox::files
