// SPDX-License-Identifier: Apache-2.0
// Facts about a script for SQLite's shell: the functions that its statements name, the files that
// they reach, and the shell's own commands (".shell ls"), which are names too.
#pragma once

#include <optional>
#include <string_view>

#include "analyser/facts.h"
#include "analyser/inside.h"

namespace glovebox::analyser {

void analyse_sql(std::string_view text, std::optional<Inside> inside, Facts& facts);

}  // namespace glovebox::analyser
