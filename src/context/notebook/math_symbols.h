// SPDX-License-Identifier: Apache-2.0
// What LaTeX's commands without arguments stand for.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::notebook {

struct MathSymbol {
  enum class Kind {
    kIdentifier,
    kOperator,
    kLarge,     // Its limits stand above and below in displays.
    kIntegral,  // Large, with its limits beside it.
    kFunction,  // An upright name.
    kLimit,     // A function whose limits stand below.
    kSpace,     // `text` is a width.
  };
  std::string_view name;
  Kind kind = Kind::kIdentifier;
  std::string_view text;
};

// Null for a command that is not known.
[[nodiscard]] const MathSymbol* find_math_symbol(std::string_view name);

struct MathEnvironment {
  std::string_view name;
  std::string_view open;  // The brackets around it.
  std::string_view close;
  std::string_view alignment;  // Of the columns, repeated; empty for centred ones.
};

// Null for an environment that is not known; a star after the name is ignored.
[[nodiscard]] const MathEnvironment* find_math_environment(std::string_view name);

// The mark that \hat, \vec and the like set above (or below) their argument; empty for others.
struct MathAccent {
  std::string_view text;
  bool below = false;
};
[[nodiscard]] MathAccent find_math_accent(std::string_view name);

// A letter or digit in the alphabet of \mathbb, \mathcal, \mathfrak or \mathbf, in UTF-8; the
// character itself if there is none.
[[nodiscard]] std::string math_letter(std::string_view alphabet, char c);

}  // namespace glovebox::notebook
