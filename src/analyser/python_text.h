// SPDX-License-Identifier: Apache-2.0
// Texts and bytes of Python as sequences of code points or bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyser/python_tree.h"

namespace glovebox::analyser {

bool is_ascii(std::string_view text);
// The code points of a text, or the bytes of bytes.
std::u32string codes_of(const Value& value);
std::string from_codes(std::u32string_view codes, bool bytes);
// repr() of a text or of bytes; nothing for a text that is not ASCII.
std::optional<std::string> shown(std::string_view text, bool bytes);

}  // namespace glovebox::analyser
