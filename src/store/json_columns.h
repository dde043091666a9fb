// SPDX-License-Identifier: Apache-2.0
// Values that a column keeps as JSON, so that SQL can look into them.
//
// Texts must be UTF-8 without null bytes (kInvalid). We wrote what is read back; if it cannot be
// what we wrote, the database is damaged (kUnavailable).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/command.h"
#include "spec/limits.h"

namespace glovebox::json_column {

Result<std::string> from_texts(const std::vector<std::string>& texts);
Result<std::vector<std::string>> to_texts(std::string_view column);

Result<std::string> from_map(const std::map<std::string, std::string>& map);
Result<std::map<std::string, std::string>> to_map(std::string_view column);

// A list of pairs: the order counts, and a name may come twice.
Result<std::string> from_environment(const Environment& environment);
Result<Environment> to_environment(std::string_view column);

std::string from_limits(const Limits& limits);
// A limit that an earlier version did not know gets its default.
Result<Limits> to_limits(std::string_view column);

}  // namespace glovebox::json_column
