// SPDX-License-Identifier: Apache-2.0
// Ids that nobody can guess.
#pragma once

#include <string>

namespace glovebox::mcp {

// 192 random bits, in the alphabet of base64 for URLs.
std::string random_id();

}  // namespace glovebox::mcp
