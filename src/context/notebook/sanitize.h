// SPDX-License-Identifier: Apache-2.0
// HTML from a guest, made fit to stand in a page of ours.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::notebook {

struct SanitizedHtml {
  std::string html;
  bool visible = false;     // Whether there is a text or an image in it.
  bool had_script = false;  // Whether it needed scripts, and so is not what its author meant.
  bool had_hidden = false;  // Whether a text is shown that was hidden until styles showed it.
};

// Reads `html` with its own tokenizer and writes it anew: only the elements and attributes of a
// strict list, nested as HTML demands and all closed, so that a browser reads exactly the structure
// that was checked. Scripts, frames, forms, ids, event handlers and outside images are gone. Of
// style sheets, rules for one element by its id (as pandas writes them for a styled table) become
// that element's own style, within the same bounds; all others are gone.
[[nodiscard]] SanitizedHtml sanitize_html(std::string_view html);

}  // namespace glovebox::notebook
