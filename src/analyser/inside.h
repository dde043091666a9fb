// SPDX-License-Identifier: Apache-2.0
// Where a text stands that was found inside of another one: a script in a string, code in a
// command.
#pragma once

#include "analyser/facts.h"

namespace glovebox::analyser {

// How deep texts are followed that stand in each other.
inline constexpr int kMostInside = 8;

struct Inside {
  Place at{};     // In the outermost text; all of its facts have this place.
  int depth = 1;  // In how many others it stands.

  [[nodiscard]] Inside deeper() const { return {.at = at, .depth = depth + 1}; }
};

}  // namespace glovebox::analyser
