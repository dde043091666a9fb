// SPDX-License-Identifier: Apache-2.0
// What constants in programs say, in any language. All are safe for any text, and linear.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glovebox::analyser::syntax {

// What an escape sequence of C-like languages stands for: "\\x41" is "A". The sequence itself if it
// is not one of these.
std::string unescaped(std::string_view sequence);

// A literal without its prefix and quotes, or without the colon of a symbol.
std::string_view without_quotes(std::string_view literal);

// A number in decimal or hexadecimal digits; 0 if it is not one.
double number_in(std::string_view literal);

std::string reversed(std::string_view text);
std::string trimmed(std::string_view text);
std::string upper_case(std::string_view text);

}  // namespace glovebox::analyser::syntax
