// SPDX-License-Identifier: Apache-2.0
// Takes the mathematics out of Markdown before it is parsed: "_", "*" and "\\" mean something else
// there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glovebox::notebook {

struct Formula {
  std::string source;  // With its dollars, for places where no formula can be shown.
  std::string latex;
  bool display = false;
};

// Each formula is replaced by its number between these two, which are removed from the text first.
inline constexpr std::string_view kFormulaBegin = "\uE000";
inline constexpr std::string_view kFormulaEnd = "\uE001";

struct ExtractedMath {
  std::string markdown;
  std::vector<Formula> formulas;
};

// Finds $…$, $$…$$, \\(…\\), \\[…\\] and environments such as \begin{align}, but not in code.
[[nodiscard]] ExtractedMath extract_math(std::string_view markdown);

}  // namespace glovebox::notebook
