// SPDX-License-Identifier: Apache-2.0
// Source code as HTML with its words marked by kind.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::notebook {

// Keywords, strings, numbers, comments, function names and the like in <span class="k|s|n|c|…">.
// Knows Python, JavaScript and TypeScript, R, Bash, SQL, Julia and languages that look like C; code
// in any other language is escaped only. Any text is allowed; the time is linear in its length.
[[nodiscard]] std::string highlight(std::string_view code, std::string_view language);

}  // namespace glovebox::notebook
