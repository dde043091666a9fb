// SPDX-License-Identifier: Apache-2.0
// The values of Python's literals: numbers, and strings with their escapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyser/python_tree.h"

namespace glovebox::analyser {

// The number that `written` is; nothing if it is not one.
std::optional<Value> number_of(std::string_view written);

struct Literal {
  enum class End : std::uint8_t { kKnown, kUnknown, kWrong };
  End end = End::kKnown;  // kUnknown: it names characters whose names we do not know.
  std::string_view text{};
};

// The value of `written`, the text between the quotes of a string. The result points into `written`
// or the arena.
Literal unescaped(std::string_view written, bool bytes, bool raw, Arena& arena);

// An identifier as CPython knows it (NFKC). Nothing if it is not UTF-8.
std::optional<std::string_view> normalized(std::string_view name, Arena& arena);

// The code points of a text that append_utf8() (base/utf8.h) made.
std::u32string code_points(std::string_view text);

}  // namespace glovebox::analyser
