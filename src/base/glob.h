// SPDX-License-Identifier: Apache-2.0
// Patterns of names and paths.
#pragma once

#include <string_view>

namespace glovebox {

// Whether the whole text is as the pattern says: "*" is any text, "?" any character. In the time of
// pattern times text.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace glovebox
