// SPDX-License-Identifier: Apache-2.0
// What analyses code. It runs inside walls (service/runs/analysis.h).
#pragma once

#include <string_view>

namespace glovebox::policy {

// For JavaScript, to be run by Node.js with --expose-internals: it reads units.json and prints one
// line of facts for each unit, as the program glovebox-analyser does for the other families.
std::string_view javascript_analyser();

// The family of languages that an analyser handles: "python", "shell", "javascript"; empty when
// none knows the language with this id.
std::string_view family_of(std::string_view language);

}  // namespace glovebox::policy
