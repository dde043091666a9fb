// SPDX-License-Identifier: Apache-2.0
// One program, in any of the languages that we know.
#pragma once

#include <string_view>

#include "analyser/facts.h"

namespace glovebox::analyser {

// Adds what `code`, which is UTF-8, is and does. A language without an analysis, a text that is not
// in the language and one that exceeds our bounds are facts "unparsed".
void analyse(std::string_view language, std::string_view code, Facts& facts);

}  // namespace glovebox::analyser
