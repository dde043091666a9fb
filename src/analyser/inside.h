// SPDX-License-Identifier: Apache-2.0
// The place of a text that was found inside another one: a script in a string, code in a command.
#pragma once

#include "analyser/facts.h"

namespace glovebox::analyser {

// How deeply nested texts are followed.
inline constexpr int kMostInside = 8;

struct Inside {
  Place at{};     // In the outermost text; all facts about the inner text have this place.
  int depth = 1;  // How many texts it is inside of.

  [[nodiscard]] Inside deeper() const { return {.at = at, .depth = depth + 1}; }
};

}  // namespace glovebox::analyser
