// SPDX-License-Identifier: Apache-2.0
// Parts of a JSON text as they stand in it: in their order, with every digit.
//
// What only passes through is cut out and passed on, instead of being parsed and written anew.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox {

// All of these require valid JSON: parse it first. They allocate nothing for what they skip.

// The value of a member of an object. Nothing where the text is no object or has no such member,
// and where the text spells that name with escapes.
[[nodiscard]] std::optional<std::string_view> raw_member(std::string_view object,
                                                         std::string_view name);

// The items of an array; none where the text is no array.
[[nodiscard]] std::vector<std::string_view> raw_items(std::string_view array);

// The same value without white space between its parts: in one line.
[[nodiscard]] std::string compact_json(std::string_view json);

}  // namespace glovebox
