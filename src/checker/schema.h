// SPDX-License-Identifier: Apache-2.0
// JSON Schema (drafts 4, 6 and 7): whether a document conforms to a schema.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace glovebox::checker {

// Success where the text is JSON that conforms to the schema. kInvalid, and where and why it does
// not; also where the schema is none, or demands what is not checked here. The texts are bounded
// (base and spec/json/bounded_json.h), references lead only into the schema itself.
//
// A schema can ask for endless work, or more stack than there is, by its patterns and references:
// call this in a process that may end of it.
Result<void> conforms(std::string_view schema, std::string_view document);

// kInvalid where a keyword of the schema would be passed over in silence. So nothing counts as
// checked that was not.
Result<void> check_keywords(const nlohmann::json& schema);

}  // namespace glovebox::checker
