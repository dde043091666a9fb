// SPDX-License-Identifier: Apache-2.0
// The characters of UTF-8 (RFC 3629): where they begin and end, and how they are written. None of
// these checks that a text is UTF-8 (is_utf8()).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glovebox {

// Whether a byte is one of a character but not its first.
[[nodiscard]] constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// How many bytes a character has whose first byte is `lead`; 1 if that cannot be a first byte.
[[nodiscard]] constexpr std::size_t length_of_character(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// How many characters begin in the text.
[[nodiscard]] std::size_t count_characters(std::string_view text);

// The longest front of whole characters that fits in `most` bytes.
[[nodiscard]] std::string_view cut_at_character(std::string_view text, std::size_t most);

// How many bytes at the end are a character begun but not finished: 0 to 3.
[[nodiscard]] std::size_t unfinished_character(std::string_view text);

// Appends a code point, surrogates like any other; nothing above U+10FFFF.
void append_utf8(std::string& text, char32_t code);

}  // namespace glovebox
