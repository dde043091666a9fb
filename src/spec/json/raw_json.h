// SPDX-License-Identifier: Apache-2.0
// Parts of a JSON text as they stand in it: in their order, with every digit.
//
// What only passes through is cut out and passed on, instead of being parsed and written anew.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glovebox {

// All of these require valid JSON: parse it first.

// Names, with their escapes and without their quotes, and values of an object, in its order; none
// if the text is not an object.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> raw_members(
    std::string_view object);

// The value of a member of an object, the first of that name. Nothing if the text is not an object,
// has no such member, or spells that name with escapes.
[[nodiscard]] std::optional<std::string_view> raw_member(std::string_view object,
                                                         std::string_view name);

// The items of an array; none if the text is not an array.
[[nodiscard]] std::vector<std::string_view> raw_items(std::string_view array);

// The same value without white space between its parts: in one line.
[[nodiscard]] std::string compact_json(std::string_view json);

}  // namespace glovebox
