// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the known word that is nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glovebox {

// The candidate with the fewest insertions, deletions, replacements and swaps of neighbours, if
// they are at most a third of the word's letters (one at least); the first of equals. Empty when
// none is near enough. Case does not count.
std::string nearest_word(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace glovebox
