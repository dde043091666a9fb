// SPDX-License-Identifier: Apache-2.0
// A notebook as one HTML page that needs nothing else and can run nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "context/notebook/notebook.h"

namespace glovebox::notebook {

struct HtmlOptions {
  std::string title;      // Empty: the notebook's own, or its first heading.
  bool with_code = true;  // Whether the sources of code cells are shown.
};

// Everything that comes from the notebook is escaped, sanitised or shown as an image, and the page
// itself forbids scripts and all loading from outside (Content-Security-Policy): the guest wrote
// the outputs, and the reader's browser holds the reader's sessions.
[[nodiscard]] std::string notebook_to_html(const Notebook& notebook,
                                           const HtmlOptions& options = {});

// The same in pieces, so that a large page is not in memory as a whole.
void notebook_to_html(const Notebook& notebook,
                      const HtmlOptions& options,
                      const std::function<void(std::string_view piece)>& write);

// One output as the page shows it; needs the page's style.
[[nodiscard]] std::string output_to_html(const Output& output);

}  // namespace glovebox::notebook
