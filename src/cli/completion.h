// SPDX-License-Identifier: Apache-2.0
// Completion of the command line in shells: `glovebox completion SHELL` prints a script, which asks
// `glovebox --complete WORD…` at each key. So it offers exactly what the parser knows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace CLI {
class App;
}  // namespace CLI

namespace glovebox::cli {

// The first word of a command line that asks for completions.
inline constexpr std::string_view kComplete = "--complete";

// The commands, options or values that may complete the last of `words`, sorted. `words` is the
// command line after the program's name, up to the cursor; the last may be empty. Returns nothing
// if a file or any text may follow: shells then offer files.
std::vector<std::string> completions(const CLI::App& app, std::span<const std::string> words);

void add_completion(CLI::App& app, Action* action);

}  // namespace glovebox::cli
