// SPDX-License-Identifier: Apache-2.0
// Splits a text that is not a conversation into cells for `glovebox repl`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::cli {

// Cuts at lines that begin with a comment sign and " %%" ("# %%", "// %%", "-- %%") if there are
// any, as editors do; else at blank lines, but not where an indented line follows or
// `is_complete` says that more must come. A line with a command of the repl is a cell of its own.
[[nodiscard]] std::vector<std::string> split_cells(
    std::string_view text, const std::function<bool(const std::string&)>& is_complete);

}  // namespace glovebox::cli
