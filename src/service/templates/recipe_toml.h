// SPDX-License-Identifier: Apache-2.0
// Recipes as people write them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// The JSON text that POST /v1/templates takes, of a TOML file with the same names. The daemon
// decides which names there are and what they mean. kInvalid with line and column for text that is
// not TOML, and for dates, which JSON does not have.
Result<std::string> recipe_json_from_toml(std::string_view text);

}  // namespace glovebox
