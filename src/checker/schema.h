// SPDX-License-Identifier: Apache-2.0
// JSON Schema (drafts 4, 6 and 7): whether a document conforms to a schema.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace glovebox::checker {

// Success if the document is JSON that conforms to the schema. Otherwise kInvalid, which says where
// and why not; also if the schema is not one, or demands what is not checked here. The texts are
// bounded (base and spec/json/bounded_json.h), and references lead only into the schema itself.
//
// A schema's patterns and references can demand endless work, or more stack than there is: call
// this in a process that may die of it.
Result<void> conforms(std::string_view schema, std::string_view document);

// kInvalid if the validator would silently skip a keyword of the schema. So nothing counts as
// checked that was not.
Result<void> check_keywords(const nlohmann::json& schema);

}  // namespace glovebox::checker
