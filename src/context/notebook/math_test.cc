// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/math.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string inner(std::string_view latex, bool display = false) {
  std::string html = latex_to_mathml(latex, display);
  const std::string open = display ? "<math display=\"block\"><mrow>" : "<math><mrow>";
  EXPECT_TRUE(html.starts_with(open) && html.ends_with("</mrow></math>")) << html;
  return html.substr(open.size(), html.size() - open.size() - 14);
}

// Whether every element is closed in order.
bool is_balanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t i = html.find('<'); i != std::string::npos; i = html.find('<', i + 1)) {
    const std::size_t end = html.find_first_of(" >", i);
    if (html[i + 1] != '/') {
      open.push_back(html.substr(i + 1, end - i - 1));
    } else if (open.empty() || open.back() != html.substr(i + 2, end - i - 2)) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

TEST(MathTest, WritesFractionsScriptsAndRoots) {
  EXPECT_EQ(inner("x^2_i"),
            "<msubsup><mrow><mi>x</mi></mrow><mrow><mrow><mi>i</mi></mrow></mrow>"
            "<mrow><mrow><mn>2</mn></mrow></mrow></msubsup>");
  EXPECT_EQ(inner("\\frac12"), "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>");
  EXPECT_EQ(inner("x^12"), inner("x^1 2"));
  EXPECT_EQ(inner("x_10 + 10"), inner("x_1 0 + 10"));
  EXPECT_EQ(inner("\\sqrt23"), inner("\\sqrt2 3"));
  EXPECT_THAT(inner("x^{12}"), HasSubstr("<mn>12</mn>"));
  EXPECT_EQ(inner("\\sqrt[3]{8}"),
            "<mroot><mrow><mrow><mn>8</mn></mrow></mrow><mrow><mn>3</mn></mrow></mroot>");
}

TEST(MathTest, SetsLimitsWhereTheyBelong) {
  EXPECT_THAT(inner("\\sum_{i}^n", true), HasSubstr("<munderover>"));
  EXPECT_THAT(inner("\\int_0^1", true), HasSubstr("<msubsup>"));
  EXPECT_THAT(inner("\\lim_{x}", true), HasSubstr("<munder>"));
  EXPECT_THAT(inner("\\lim_{x}", false), HasSubstr("<msub>"));
}

TEST(MathTest, WritesMatricesCasesAndAlignedRows) {
  EXPECT_EQ(inner("\\begin{bmatrix}1&2\\\\3&4\\end{bmatrix}"),
            "<mrow><mo stretchy=\"true\">[</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn>"
            "</mtd></mtr><mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable>"
            "<mo stretchy=\"true\">]</mo></mrow>");
  EXPECT_THAT(inner("a &= b \\\\ &= c"), HasSubstr("<mtd class=\"right\"><mi>a</mi></mtd>"));
}

TEST(MathTest, KnowsAlphabetsAndAccents) {
  EXPECT_EQ(inner("\\mathbb{R}"), "<mi>ℝ</mi>");
  EXPECT_EQ(inner("\\mathcal A"), "<mi>𝒜</mi>");
  EXPECT_EQ(inner("\\mathbf{b}"), "<mi>𝐛</mi>");
  EXPECT_THAT(inner("\\hat{x}"), HasSubstr("<mover accent=\"true\">"));
  EXPECT_EQ(inner("\\text{if }"), "<mtext>if\u00a0</mtext>");
}

TEST(MathTest, ShowsUnknownCommandsAsText) {
  EXPECT_EQ(inner("\\foo x"), "<mtext>\\foo</mtext><mi>x</mi>");
  EXPECT_THAT(inner("\\begin{foo}x\\end{foo}"), HasSubstr("<mtext>\\begin{foo}</mtext>"));
}

TEST(MathTest, EscapesEverything) {
  for (const char* const latex :
       {"<script>", "\\text{<script>}", "\\begin{<script>}", "\\<", "\\operatorname{<script>}",
        "\\left<x\\right>", "\\tag{<script>}"}) {
    const std::string html = latex_to_mathml(latex, true);
    EXPECT_THAT(html, Not(HasSubstr("<script"))) << latex;
    EXPECT_TRUE(is_balanced(html)) << html;
  }
}

TEST(MathTest, IsBalancedForAnyInput) {
  const std::vector<std::string> pieces = {
      "\\frac",   "{",     "}",        "^",          "_",
      "&",        "\\\\",  "\\left(",  "\\right",    "\\begin{cases}",
      "\\end{x}", "x",     "'",        "[",          "]",
      "\\sqrt",   "\\",    "\\mathbb", "\\hat",      "\\sum",
      "\\limits", " ",     "é",        "\\substack", "\\binom",
      "\\not",    "\\sin", "1.5",      "\\begin",    "\\begin{array}{lr}"};
  std::size_t state = 99;
  for (int round = 0; round < 2'000; ++round) {
    std::string latex;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      latex += pieces[(state >> 33) % pieces.size()];
    }
    EXPECT_TRUE(is_balanced(latex_to_mathml(latex, round % 2 == 0))) << latex;
  }
}

TEST(MathTest, SurvivesDeepAndLongFormulas) {
  std::string deep;
  for (int i = 0; i < 9'000; ++i) {
    deep += "{^";
  }
  EXPECT_TRUE(is_balanced(latex_to_mathml(deep, true)));
  EXPECT_THAT(latex_to_mathml(std::string(30'000, '<'), true), HasSubstr("<mtext>&lt;"));
}

}  // namespace
}  // namespace glovebox::notebook
