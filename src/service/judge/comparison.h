// SPDX-License-Identifier: Apache-2.0
// Whether a program printed what was expected of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::judge {

struct Comparison {
  enum class Kind {
    kLines,   // Line by line; white space at the end of lines and of the text does not count.
    kExact,   // Byte by byte.
    kTokens,  // Word by word; any white space separates them.
    kNumbers  // As kTokens, but numbers may differ by `tolerance`, absolutely or relatively.
  };
  Kind kind = Kind::kLines;
  double tolerance = 0;
};

// Reads "lines", "exact", "tokens" or "float:1e-6". Fails with kInvalid on anything else.
Result<Comparison> parse_comparison(std::string_view text);

// Where the two differ first, as a short sentence for people; nothing when they match. Both may be
// anything: `actual` comes from a guest.
std::optional<std::string> difference(std::string_view expected,
                                      std::string_view actual,
                                      const Comparison& comparison);

}  // namespace glovebox::judge
