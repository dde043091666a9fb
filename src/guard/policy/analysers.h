// SPDX-License-Identifier: Apache-2.0
// Which languages can be analysed. The analysers run inside walls (service/runs/analysis.h).
#pragma once

#include <span>
#include <string_view>

namespace glovebox::policy {

// The family of languages whose rules apply to the language with this id: "python", "shell", "c";
// empty if programs in it cannot be analysed.
std::string_view family_of(std::string_view language);

// What the program glovebox-analyser calls the language of a program in a file named `file`, which
// may be empty: "typescript", or "tsx" by the ending; empty likewise.
std::string_view analysed_as(std::string_view language, std::string_view file = {});

// The families that have modules, calls and attributes: all but the shell. A policy has a table for
// each family that it has rules for.
std::span<const std::string_view> families_with_names();

}  // namespace glovebox::policy
