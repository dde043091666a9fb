// SPDX-License-Identifier: Apache-2.0
// The commands of `glovebox repl` itself: lines that begin with ":".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::cli {

class ReplEngine;

// Whether the line is ":" and a word. A blank in front makes the line code.
[[nodiscard]] bool names_command(std::string_view line);

// ":help", ":save" and so on, for completion.
[[nodiscard]] std::vector<std::string> command_names();

Result<void> run_command(ReplEngine& engine, std::string_view line);

}  // namespace glovebox::cli
