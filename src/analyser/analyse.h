// SPDX-License-Identifier: Apache-2.0
// One program, in any of the languages that we know.
#pragma once

#include <optional>
#include <string_view>

#include "analyser/facts.h"

namespace glovebox::analyser {

// Adds what `code`, which is UTF-8, is and does. A language without an analysis, a text that is not
// in the language and one that exceeds our bounds are facts "unparsed". `at` is the place of a
// script that another program carries: all of its facts have it.
void analyse(std::string_view language,
             std::string_view code,
             std::optional<Place> at,
             Facts& facts);

}  // namespace glovebox::analyser
