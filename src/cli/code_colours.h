// SPDX-License-Identifier: Apache-2.0
// The colours of code while it is typed: words, strings, comments and numbers, told apart by their
// first characters, as far as a line editor needs it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::cli {

// A part of the code that has a colour; the rest has none.
struct ColouredPart {
  std::size_t begin = 0;
  std::size_t end = 0;
  const char* colour = "";  // A control sequence.
  friend bool operator==(const ColouredPart&, const ColouredPart&) = default;
};

// In order. A part still open at the end, such as a string, reaches to the end. Empty for a
// language that we cannot read.
std::vector<ColouredPart> colour_code(std::string_view language, std::string_view code);

}  // namespace glovebox::cli
