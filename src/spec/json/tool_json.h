// SPDX-License-Identifier: Apache-2.0
// Offers of tools: read from JSON, and checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/tool.h"

namespace glovebox {

// Reads [{"name": …, "description": …, "parameters": {…}}], where only the name is required.
// Schemas keep their order. kInvalid for anything else; the offer is not checked otherwise.
Result<std::vector<Tool>> parse_tools(std::string_view json);

// kInvalid if the offer is beyond its bounds, a name or a schema is not valid, or code could not
// tell two of its tools apart.
Result<void> validate(const ToolOffer& offer);

// As parse_tools() reads it.
std::string to_json(const std::vector<Tool>& tools);

}  // namespace glovebox
