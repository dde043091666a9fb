// SPDX-License-Identifier: Apache-2.0
// The `schema` of our JSON documents: its name and version, by which a program that reads one knows
// what it has. docs/json.md describes each.
#pragma once

#include <string>
#include <string_view>

namespace glovebox {

// "glovebox.verdict/1" for "verdict". The number grows when a name is removed or changes its
// meaning, not when one is added.
inline std::string schema_of(std::string_view document) {
  return "glovebox." + std::string(document) + "/1";
}

}  // namespace glovebox
