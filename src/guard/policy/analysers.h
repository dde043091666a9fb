// SPDX-License-Identifier: Apache-2.0
// Which languages can be analysed. What does it runs inside walls (service/runs/analysis.h).
#pragma once

#include <span>
#include <string_view>

namespace glovebox::policy {

// The family of languages whose rules hold for a language, by its id: "python", "shell", "c"; empty
// when programs in it cannot be analysed.
std::string_view family_of(std::string_view language);

// What the program glovebox-analyser calls the language of a program in a file of that name, which
// may be empty: "typescript", or "tsx" by the ending; empty likewise.
std::string_view analysed_as(std::string_view language, std::string_view file = {});

// The families that have modules, calls and attributes: all but the shell. A policy has a table for
// each that it says something about.
std::span<const std::string_view> families_with_names();

}  // namespace glovebox::policy
