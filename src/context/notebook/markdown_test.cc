// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/markdown.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/notebook/markdown_math.h"

namespace glovebox::notebook {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> formulas(std::string_view markdown) {
  std::vector<std::string> found;
  for (const Formula& formula : extract_math(markdown).formulas) {
    found.push_back((formula.display ? "display " : "") + formula.latex);
  }
  return found;
}

TEST(MarkdownTest, WritesBlocksAndSpans) {
  EXPECT_EQ(markdown_to_html("# T *e*\n\n- a\n- **b**\n"),
            "<h1>T <em>e</em></h1>\n<ul><li>a</li>\n<li><strong>b</strong></li>\n</ul>\n");
  EXPECT_THAT(markdown_to_html("|a|b|\n|--|-:|\n|1|~~2~~|"),
              HasSubstr("<th class=\"right\">b</th>"));
  EXPECT_THAT(markdown_to_html("```python\nif x\n```"), HasSubstr("<span class=\"k\">if</span> x"));
}

TEST(MarkdownTest, FindsFormulasButNotInCodeOrPrices) {
  using ::testing::ElementsAre;
  EXPECT_THAT(formulas("a $x_1*y*$ b $$\nz\n$$"), ElementsAre("x_1*y*", "display \nz\n"));
  EXPECT_THAT(formulas("\\\\(a\\\\) \\\\[b\\\\]"), ElementsAre("a", "display b"));
  EXPECT_THAT(formulas("\\begin{align}a\\end{align}"),
              ElementsAre("display \\begin{align}a\\end{align}"));
  EXPECT_THAT(formulas("$5 and $6, `$a$`, \\$b$, $ c $\n```\n$d$\n```\n    \n~~~\n$e$"), IsEmpty());
}

TEST(MarkdownTest, ShowsFormulasAsMathMl) {
  EXPECT_THAT(markdown_to_html("so $a_b$ and *$c$*"), HasSubstr("<em><math>"));
  EXPECT_EQ(markdown_to_html("\uE000"
                             "0\uE001"),
            "<p>0</p>\n");
}

TEST(MarkdownTest, SanitisesRawHtml) {
  const std::string html = markdown_to_html(
      "<script>alert(1)</script>\n\na <b onclick=x>b</b><br> <img src=x>\n\n"
      "<div style='color:red'>c</div></div></main>");
  EXPECT_THAT(html, Not(HasSubstr("script")));
  EXPECT_THAT(html, Not(HasSubstr("onclick")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("</main>")));
  EXPECT_THAT(html, HasSubstr("<div style=\"color:red;\">c</div>"));
}

TEST(MarkdownTest, LinksAndImagesLoadNothing) {
  EXPECT_THAT(markdown_to_html("[x](javascript:alert(1)) <javascript:x>"), Not(HasSubstr("<a")));
  EXPECT_THAT(markdown_to_html("[x](https://e.org/\"&)"),
              HasSubstr("<a href=\"https://e.org/&quot;&amp;\""));
  EXPECT_EQ(markdown_to_html("![a *b* <c>](https://e.org/x.png)"),
            "<p><span class=\"absent\">[image: a b ]</span></p>\n");
}

TEST(MarkdownTest, ShowsAttachments) {
  EXPECT_EQ(
      markdown_to_html("![x](attachment:a%20b.png)", {{"a b.png", {{"image/png", R"("aG\nk=")"}}}}),
      "<p><img src=\"data:image/png;base64,aGk=\" alt=\"x\"></p>\n");
}

TEST(MarkdownTest, ShowsTooLongATextAsItIs) {
  EXPECT_THAT(markdown_to_html(std::string(200'000, '*')), HasSubstr("<pre>***"));
}

}  // namespace
}  // namespace glovebox::notebook
