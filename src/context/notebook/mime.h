// SPDX-License-Identifier: Apache-2.0
// What nbformat says about MIME types: which values are JSON and which texts are split into lines.
#pragma once

#include <string_view>

namespace glovebox::notebook {

// Values of these types are JSON of any shape; a list of strings among them is a list.
[[nodiscard]] inline bool is_json_mime(std::string_view mime) {
  return mime == "application/json" ||
         (mime.starts_with("application/") && mime.ends_with("+json"));
}

// Texts of these types are written as lists of lines; others, such as images in base64, are not.
[[nodiscard]] inline bool is_line_mime(std::string_view mime) {
  return mime.starts_with("text/") || mime == "application/javascript" || mime == "image/svg+xml";
}

}  // namespace glovebox::notebook
