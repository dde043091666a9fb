// SPDX-License-Identifier: Apache-2.0
// The description of the REST door: api/openapi.yaml as JSON, part of the program.
#pragma once

#include <string_view>

namespace glovebox::rest {

std::string_view openapi_text();

}  // namespace glovebox::rest
