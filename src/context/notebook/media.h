// SPDX-License-Identifier: Apache-2.0
// MIME values of outputs as text, and as data addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "context/notebook/notebook.h"

namespace glovebox::notebook {

// The value of a type whose values are texts; nothing when it is absent or something else.
[[nodiscard]] std::optional<std::string> text_value(const MimeBundle& data, std::string_view mime);

// "data:…" of the best image in the bundle: SVG, PNG, JPEG, GIF or WebP.
[[nodiscard]] std::optional<std::string> image_address(const MimeBundle& data);

// The same of one type, an image's or application/pdf.
[[nodiscard]] std::optional<std::string> data_address(const MimeBundle& data,
                                                      std::string_view mime);

// JSON text as a tree of <details> elements, open at its root. Too large a value is shown as text.
[[nodiscard]] std::string json_to_html(const std::string& text);

}  // namespace glovebox::notebook
