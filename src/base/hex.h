// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits in lower case, two a byte.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace glovebox {

[[nodiscard]] std::string to_hex(std::span<const unsigned char> bytes);
[[nodiscard]] std::string to_hex(std::string_view bytes);

// Nothing for a text that to_hex() does not make: an odd number of digits, capitals.
[[nodiscard]] std::optional<std::string> from_hex(std::string_view text);

// Whether the text is only such digits.
[[nodiscard]] bool is_hex(std::string_view text);

}  // namespace glovebox
