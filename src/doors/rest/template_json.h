// SPDX-License-Identifier: Apache-2.0
// Templates as JSON, and recipes from it.
#pragma once

#include "doors/rest/fields.h"
#include "service/api/template_service.h"

namespace glovebox::rest {

Json to_json(const TemplateInfo& info);
Result<Recipe> read_recipe(Fields& fields);
// One of its files; `base64` is decoded.
Result<RecipeStep> read_recipe_file(Fields& fields);

}  // namespace glovebox::rest
