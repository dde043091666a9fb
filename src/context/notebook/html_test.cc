// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/html.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string shown(const MimeBundle& data) {
  Output output;
  output.kind = Output::Kind::kDisplay;
  output.data = data;
  return output_to_html(output);
}

TEST(HtmlTest, ForbidsScriptsAndLoading) {
  EXPECT_THAT(notebook_to_html({}), HasSubstr("content=\"default-src 'none'; img-src data:; "
                                              "style-src 'unsafe-inline'"));
}

TEST(HtmlTest, ShowsSvgAsAnImage) {
  EXPECT_EQ(shown({{"image/svg+xml", R"("<svg><script>x</script></svg>")"}}),
            "<img src=\"data:image/svg+xml;base64,PHN2Zz48c2NyaXB0Png8L3NjcmlwdD48L3N2Zz4=\" "
            "alt=\"\">");
}

TEST(HtmlTest, RefusesImagesThatAreNoBase64) {
  EXPECT_THAT(shown({{"image/png", R"("\"><script>")"}, {"text/plain", R"("x")"}}),
              StartsWith("<pre class=\"plain\">x"));
  EXPECT_THAT(shown({{"image/png", R"({"ref":"r1"})"}}), HasSubstr("[output of type image/png]"));
}

TEST(HtmlTest, FallsBackWhereScriptsWouldDraw) {
  const std::string plot = R"json("<div></div><script>draw()</script>")json";
  EXPECT_THAT(shown({{"text/html", plot}, {"text/plain", R"("Figure")"}}), HasSubstr("Figure"));
  EXPECT_THAT(shown({{"text/html", plot}, {"image/png", R"("aGk=")"}}), StartsWith("<img"));
  EXPECT_THAT(shown({{"application/vnd.jupyter.widget-view+json", "{}"},
                     {"text/plain", R"json("IntSlider()")json"}}),
              HasSubstr("IntSlider()"));
}

TEST(HtmlTest, FallsBackWhereAStyleSheetWouldChooseOneOfTwo) {
  // As scikit-learn and xarray write them.
  for (const std::string hidden : {"hidden", "style='display: none'"}) {
    const std::string model =
        R"json("<style>.t{display:none}</style><div class='t'>please rerun)json"
        "</div><div " +
        hidden + R"json(><p>Model</p></div>")json";
    EXPECT_THAT(shown({{"text/html", model}, {"text/plain", R"json("Model(a=1)")json"}}),
                StartsWith("<pre class=\"plain\">Model(a=1)<"));
    EXPECT_THAT(shown({{"text/html", model}}), HasSubstr("<p>Model</p>"));
  }
}

TEST(HtmlTest, TextsBesideAScriptAreShownWhereNothingElseSaysMore) {
  const std::string html = R"json("<b>seen</b><script>draw()</script>")json";
  const std::string repr = R"("<IPython.core.display.HTML object>")";
  EXPECT_EQ(shown({{"text/html", html}, {"text/plain", repr}}),
            "<div class=\"html\"><b>seen</b></div>");
}

TEST(HtmlTest, ShowsJsonAsATree) {
  const std::string html = shown({{"application/json", R"({"<a>":[1,"<b>"]})"}});
  EXPECT_THAT(html, HasSubstr("<details open><summary>{…}"));
  EXPECT_THAT(html, HasSubstr("&lt;a&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<a>")));
}

TEST(HtmlTest, ShowsLatexThatIsMathematics) {
  EXPECT_THAT(shown({{"text/latex", R"("$\\displaystyle x$")"}, {"text/plain", R"("p")"}}),
              StartsWith("<math"));
  EXPECT_THAT(shown({{"text/latex", R"("\\begin{tabular}x")"}, {"text/plain", R"("p")"}}),
              HasSubstr(">p<"));
}

TEST(HtmlTest, OffersPdfAsALink) {
  EXPECT_THAT(shown({{"application/pdf", R"("aGk=")"}}),
              HasSubstr("<a href=\"data:application/pdf;base64,aGk=\" download="));
}

TEST(HtmlTest, ShowsErrorsWithTheirColours) {
  Output error;
  error.kind = Output::Kind::kError;
  error.traceback = {"\x1b[31mValueError\x1b[0m", "</pre><script>"};
  EXPECT_EQ(output_to_html(error),
            "<pre class=\"error\"><span class=\"fg1\">ValueError</span>\n"
            "&lt;/pre&gt;&lt;script&gt;</pre>");
}

TEST(HtmlTest, TakesTheTitleFromTheFirstHeading) {
  Notebook notebook;
  notebook.cells.resize(2);
  notebook.cells[0].source = "# a comment";
  notebook.cells[1].kind = Cell::Kind::kMarkdown;
  notebook.cells[1].source = "text\n# Title <b>\nmore";
  EXPECT_THAT(notebook_to_html(notebook), HasSubstr("<title>Title &lt;b&gt;</title>"));
  EXPECT_THAT(notebook_to_html(notebook, {.title = "Mine"}), HasSubstr("<title>Mine</title>"));
}

TEST(HtmlTest, ShowsOutputsWithoutCodeWhenAsked) {
  Notebook notebook;
  notebook.cells.resize(1);
  notebook.cells[0].source = "secret";
  EXPECT_THAT(notebook_to_html(notebook, {.title = "t", .with_code = false}),
              Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace glovebox::notebook
