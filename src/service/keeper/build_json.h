// SPDX-License-Identifier: Apache-2.0
// What a builder is asked for, and what it makes, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/templates/build.h"

namespace glovebox {

// Also used in the settings of a template's record.
nlohmann::json parts_json(const TemplateParts& parts);

// Nothing if `json` does not describe a template.
std::optional<TemplateParts> to_parts(const nlohmann::json& json);

// Opens the files that the recipe names with this process's own rights, and appends them to
// `opened`: the builder has other rights, and gets descriptors instead of paths.
Result<nlohmann::json> recipe_json(const Recipe& recipe, std::vector<UniqueFd>& opened);

// `opened` is what was passed on, hostile like `json`. Files are named by their descriptors, which
// must outlive the recipe's use. kInvalid for what recipe_json() does not write.
Result<Recipe> to_recipe(const nlohmann::json& json, const std::vector<UniqueFd>& opened);

}  // namespace glovebox
