// SPDX-License-Identifier: Apache-2.0
// Facts about a shell script: which commands it runs, by their arguments as the shell would see
// them.
//
// This is not a shell. It follows quoting, assignments, loops over literal words, substitutions and
// here-documents far enough to find the commands behind them, and leaves "$name" in a word where
// only a running shell would know the value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyser/facts.h"
#include "analyser/inside.h"

namespace glovebox::analyser {

// `inside` is for a script inside another text. What cannot be followed is a fact "unparsed".
void analyse_shell(std::string_view text, std::optional<Inside> inside, Facts& facts);

// One command, given as its words; there is at least one.
void analyse_command(const std::vector<std::string>& words, Inside inside, Facts& facts);

// The hosts of the URLs in a text, in lower case: "example.com" for "https://me@Example.com/".
std::vector<std::string> hosts_in(std::string_view text);

}  // namespace glovebox::analyser
