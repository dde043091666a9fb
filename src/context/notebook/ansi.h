// SPDX-License-Identifier: Apache-2.0
// Text with terminal colours as HTML.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::notebook {

// SGR sequences (ECMA-48 "ESC [ … m") become <span> elements: the 16 named colours by classes
// `fg0`–`fg15` and `bg0`–`bg15`, those of 256 or of 16 million by a style. Other control sequences
// are left out. The elements are closed within the result.
[[nodiscard]] std::string ansi_to_html(std::string_view text);

}  // namespace glovebox::notebook
