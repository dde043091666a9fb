// SPDX-License-Identifier: Apache-2.0
// What the literals of Python are: numbers, and strings with their escapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyser/python_tree.h"

namespace glovebox::analyser {

// The number that is written so; nothing where it is none.
std::optional<Value> number_of(std::string_view written);

struct Literal {
  enum class End : std::uint8_t { kKnown, kUnknown, kWrong };
  End end = End::kKnown;  // kUnknown: it has characters by names that we do not know.
  std::string_view text{};
};

// What stands between the quotes of a string. The result lies in `written` or in the arena.
Literal unescaped(std::string_view written, bool bytes, bool raw, Arena& arena);

// An identifier as CPython knows it (NFKC). Nothing where it is no UTF-8.
std::optional<std::string_view> normalized(std::string_view name, Arena& arena);

// The code points of a text that append_utf8() (base/utf8.h) made.
std::u32string code_points(std::string_view text);

}  // namespace glovebox::analyser
