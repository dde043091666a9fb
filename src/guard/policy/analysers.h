// SPDX-License-Identifier: Apache-2.0
// The programs that analyse code, as texts. They run inside walls (service/runs/analysis.h).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace glovebox::policy {

// For Python and shell scripts: the program, and the files that it needs beside it. It reads
// units.json and prints one line of facts for each unit.
std::string_view python_analyser();
const std::map<std::string, std::string>& python_analyser_files();

// For JavaScript, to be run by Node.js with --expose-internals; otherwise the same.
std::string_view javascript_analyser();

// The family of languages that an analyser handles: "python", "shell", "javascript"; empty when
// none knows the language with this id.
std::string_view family_of(std::string_view language);

}  // namespace glovebox::policy
