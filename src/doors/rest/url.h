// SPDX-License-Identifier: Apache-2.0
// Request targets (RFC 3986), taken apart once and decoded once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::rest {

struct Target {
  std::string_view raw_path;          // As it came, without the query.
  std::string_view raw_query;         // Without '?'.
  std::vector<std::string> segments;  // Split before they were decoded; "/a/" ends in an empty one.
  std::map<std::string, std::string> query;
};

// `text` must live as long as the target. kInvalid for malformed escapes, NUL bytes, repeated
// parameters, and for too much of anything.
Result<Target> parse_target(std::string_view text);

// Undoes percent-encoding; nothing when it is malformed or hides a NUL.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

}  // namespace glovebox::rest
