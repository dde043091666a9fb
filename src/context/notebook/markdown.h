// SPDX-License-Identifier: Apache-2.0
// Markdown of cells and outputs as HTML.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "context/notebook/notebook.h"

namespace glovebox::notebook {

// GitHub's dialect with LaTeX mathematics. Raw HTML goes through sanitize_html(); links lead to the
// web or within the page only, and images come from the page itself: data addresses, and
// "attachment:name" of `attachments`. A text over 128 KiB is shown as it is, since the parser's
// time is not linear for all that a guest could write.
[[nodiscard]] std::string markdown_to_html(
    std::string_view markdown, const std::map<std::string, MimeBundle>& attachments = {});

}  // namespace glovebox::notebook
