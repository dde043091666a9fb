// SPDX-License-Identifier: Apache-2.0
// Patterns of names and paths.
#pragma once

#include <string_view>

namespace glovebox {

// Whether the pattern matches the whole text: "*" is any text, "?" any character. The time is at
// most in proportion to the length of the pattern times that of the text.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace glovebox
