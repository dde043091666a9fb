// SPDX-License-Identifier: Apache-2.0
// The encodings of bytes as text that programs hide behind, as Python's modules read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glovebox::analyser {

// base64.b64decode(), which skips what is not a digit. Nothing where Python raises an error.
std::optional<std::string> from_base64(std::string_view text, bool for_urls);
std::optional<std::string> from_base32(std::string_view text);
// base64.b85decode() and a85decode()
std::optional<std::string> from_base85(std::string_view text);
std::optional<std::string> from_ascii85(std::string_view text);
// bytes.fromhex(), which skips blanks between bytes
std::optional<std::string> from_hex(std::string_view text);
std::string from_rot13(std::string_view text);
// urllib.parse.unquote(), before the result is read as UTF-8
std::string from_percents(std::string_view text);

}  // namespace glovebox::analyser
