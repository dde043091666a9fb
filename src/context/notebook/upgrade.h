// SPDX-License-Identifier: Apache-2.0
// Turns the JSON of an nbformat 3 notebook (IPython before 2015) into that of nbformat 4.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace glovebox::notebook {

// `json` is an object. What is malformed in it stays malformed: the reader finds it.
[[nodiscard]] nlohmann::json upgrade_from_3(const nlohmann::json& json);

}  // namespace glovebox::notebook
