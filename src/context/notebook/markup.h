// SPDX-License-Identifier: Apache-2.0
// The smallest pieces that HTML is put together from.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glovebox::notebook {

// Appends a text as the content of an element or of a quoted attribute. Control characters that
// HTML forbids are left out.
void append_escaped(std::string& html, std::string_view text);

[[nodiscard]] std::string escaped(std::string_view text);

// Base64 without the white space in it; nothing if the text is not base64, so that the result is
// safe in an attribute.
[[nodiscard]] std::optional<std::string> clean_base64(std::string_view text);

// An address that a link may have: http, https or mailto, or a place in the same page ("#…").
[[nodiscard]] bool is_safe_link(std::string_view address);

// "data:image/png;base64,…" of a raster image or an SVG: shown by <img>, which runs no scripts.
[[nodiscard]] bool is_image_data(std::string_view address);

}  // namespace glovebox::notebook
