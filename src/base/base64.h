// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glovebox {

// The standard alphabet, padded, without line breaks.
[[nodiscard]] std::string to_base64(std::string_view bytes);

// Reads the standard alphabet and that of URLs. White space is skipped, and padding may be left
// out. Nothing when the text is not base64.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace glovebox
