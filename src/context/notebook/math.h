// SPDX-License-Identifier: Apache-2.0
// LaTeX mathematics as MathML, which browsers show without scripts.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::notebook {

// A <math> element for what stands between LaTeX's dollars. Knows the commands that notebooks use;
// an unknown one is shown as text, and so is everything that is too long or nests too deep.
[[nodiscard]] std::string latex_to_mathml(std::string_view latex, bool display);

// Whether "\begin{name}" begins mathematics outside of dollars, as "equation" and "align*" do.
[[nodiscard]] bool is_math_environment(std::string_view name);

}  // namespace glovebox::notebook
