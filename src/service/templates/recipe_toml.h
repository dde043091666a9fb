// SPDX-License-Identifier: Apache-2.0
// Recipes as people write them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// The JSON text that POST /v1/templates takes, of a TOML file with the same names. What the names
// mean and which there are is the daemon's to say. kInvalid with line and column for what is no
// TOML, and for dates, which JSON has not.
Result<std::string> recipe_json_from_toml(std::string_view text);

}  // namespace glovebox
