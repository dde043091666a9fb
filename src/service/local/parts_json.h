// SPDX-License-Identifier: Apache-2.0
// TemplateParts as the settings of a record.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "service/templates/build.h"

namespace glovebox {

nlohmann::json parts_json(const TemplateParts& parts);

// Nothing for what is none.
std::optional<TemplateParts> to_parts(const nlohmann::json& json);

}  // namespace glovebox
