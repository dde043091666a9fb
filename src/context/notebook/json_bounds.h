// SPDX-License-Identifier: Apache-2.0
// Looks over a JSON text before it is parsed, since the parser bounds neither how deep values nest
// nor how many there are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::notebook {

// Fails with kInvalid if a value lies deeper than `depth`, or there are more than `values`. Whether
// the text is JSON at all is for the parser to say.
[[nodiscard]] Result<void> check_json_bounds(std::string_view text,
                                             std::size_t depth,
                                             std::size_t values);

// "line 3, column 5" of a byte in the text; both count from 1, columns in characters.
[[nodiscard]] std::string place_in(std::string_view text, std::size_t offset);

}  // namespace glovebox::notebook
