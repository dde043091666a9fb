// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/sanitize.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

std::string safe(std::string_view html) { return sanitize_html(html).html; }

TEST(SanitizeTest, KeepsTablesAsPandasWritesThem) {
  EXPECT_EQ(safe("<style scoped>td{}</style><table border=\"1\" class=\"dataframe\">"
                 "<thead><tr style=\"text-align: right;\"><th></th></tr></thead>"
                 "<tbody><tr><td>a &lt; b</td></tr></tbody></table>"),
            "<table class=\"dataframe\"><thead><tr style=\"text-align:right;\"><th></th></tr>"
            "</thead><tbody><tr><td>a &lt; b</td></tr></tbody></table>");
}

TEST(SanitizeTest, DropsWhateverCouldRunOrLoad) {
  EXPECT_EQ(safe("<script>alert(1)</script>a"), "a");
  EXPECT_EQ(safe("<SCRIPT\n>x</sCrIpT\n>a"), "a");
  EXPECT_EQ(safe("<script>never closed"), "");
  EXPECT_EQ(safe("<p onclick=alert(1) id=x>a</p>"), "<p>a</p>");
  EXPECT_EQ(safe("<iframe src=x></iframe><object></object><link rel=x><meta a>b"), "b");
  EXPECT_EQ(safe("<img src=https://example.org/x.png><img src=x onerror=y>"), "");
  EXPECT_EQ(safe("<svg><script>x</script></svg><math><mtext></math>c"), "c");
  EXPECT_EQ(safe("<img src='data:text/html;base64,aa'>"), "");
  EXPECT_EQ(safe("<form action=x><input><button>b</button></form>"), "b");
}

TEST(SanitizeTest, KeepsImagesThatAreData) {
  EXPECT_EQ(safe("<img src=\"data:image/png;base64,aGk=\" alt='a\"b' width=10 height=1e9>"),
            "<img src=\"data:image/png;base64,aGk=\" alt=\"a&quot;b\" width=\"10\">");
}

TEST(SanitizeTest, LinksLeadToTheWebOnly) {
  EXPECT_EQ(safe("<a href='https://e.org/?a=1&amp;b'>x</a>"),
            "<a href=\"https://e.org/?a=1&amp;b\" rel=\"noopener noreferrer nofollow\">x</a>");
  for (const char* const address :
       {"javascript:alert(1)", " java\tscript:x", "JaVaScRiPt:x", "data:text/html,x", "//e.org",
        "&#106;avascript:x", "vbscript:x", "file:///etc"}) {
    EXPECT_EQ(safe("<a href=\"" + std::string(address) + "\">x</a>"),
              "<a rel=\"noopener noreferrer nofollow\">x</a>")
        << address;
  }
}

TEST(SanitizeTest, KeepsStylesThatColourOnly) {
  EXPECT_EQ(safe("<p style='color: rgb(1, 2, 3); position:fixed; background-color:#ff0'>x</p>"),
            "<p style=\"color:rgb(1, 2, 3);background-color:#ff0;\">x</p>");
  for (const char* const style :
       {"background:url(https://e.org)", "color:url(x)", "background-color:rgb(url(x)",
        "color:expression(x)", "color:\\72 ed", "color:var(--x)", "width:9999px"}) {
    EXPECT_EQ(safe("<p style='" + std::string(style) + "'>x</p>"), "<p>x</p>") << style;
  }
}

TEST(SanitizeTest, ClosesWhatIsOpenAndNothingElse) {
  EXPECT_EQ(safe("</div></main></body><b><i>x</b>y"), "<b><i>x</i></b>y");
  EXPECT_EQ(safe("<div><p>a<div>b"), "<div><p>a</p><div>b</div></div>");
  EXPECT_EQ(safe("<ul><li>a<li>b</ul>"), "<ul><li>a</li><li>b</li></ul>");
}

// A browser closes the outer table when a table stands directly in it, and then end tags would
// reach elements of the page.
TEST(SanitizeTest, NothingButRowsStandsBetweenTheCellsOfATable) {
  EXPECT_EQ(safe("<table><div>x<table></table></div><tr><td>y</table>"), "<table></table>y");
  EXPECT_EQ(safe("<td>x</td><tr>y"), "xy");
  EXPECT_EQ(safe("<table><tr><td><div><td>a</table>"),
            "<table><tr><td><div></div></td><td>a</td></tr></table>");
  EXPECT_EQ(safe("<table><tr><td></table></td>x"), "<table><tr><td></td></tr></table>x");
}

TEST(SanitizeTest, EscapesWhatIsNoTag) {
  EXPECT_EQ(safe("a < b &amp; &lt;script&gt; <3 <!-- c --> &bogus; &#60;&#x3c;"),
            "a &lt; b &amp; &lt;script&gt; &lt;3  &amp;bogus; &lt;&lt;");
  EXPECT_EQ(safe("<b"), "<b></b>");
  EXPECT_EQ(safe("<!-- <b>never closed"), "");
}

TEST(SanitizeTest, SaysWhetherATextWasHidden) {
  EXPECT_TRUE(sanitize_html("<div hidden><p>x</p></div>").had_hidden);
  EXPECT_TRUE(sanitize_html("<p style='color:red; DISPLAY : none'>x</p>").had_hidden);
  EXPECT_FALSE(sanitize_html("<div hidden><p hidden> </p></div><p>x</p>").had_hidden);
  EXPECT_FALSE(sanitize_html("<p title='hidden' style='color:red'>x</p>").had_hidden);
}

TEST(SanitizeTest, SaysWhetherAnythingIsVisible) {
  EXPECT_FALSE(sanitize_html("<div id=plot> \n</div><script>draw()</script>").visible);
  EXPECT_TRUE(sanitize_html("<div><script></script></div>").had_script);
  EXPECT_TRUE(sanitize_html("<b>x</b>").visible);
}

TEST(SanitizeTest, BoundsTheDepth) {
  std::string deep;
  for (int i = 0; i < 10'000; ++i) {
    deep += "<div>";
  }
  EXPECT_LT(safe(deep).size(), 1'000U);
}

TEST(SanitizeTest, KeepsTheColoursOfAStyledTable) {
  const std::string sheet =
      "<style type=\"text/css\">\n#T_1_row0_col0, #T_1_row1_col0 {\n  background-color: #fff5f0;\n"
      "  color: #000000;\n  position: fixed;\n}\n#T_1_row1_col0 {\n  font-weight: bold;\n}\n"
      "#T_1 th { color: red; }\ntd { color: red; }\nbody, #T_1_row0_col1:hover { color: red; }\n"
      "</style>";
  EXPECT_EQ(safe(sheet + "<table id=\"T_1\"><tr><td id=\"T_1_row0_col0\">1</td>"
                         "<td id=\"T_1_row0_col1\">2</td></tr><tr>"
                         "<td id=\"T_1_row1_col0\" style=\"color:blue\">3</td></tr></table>"),
            "<table><tr><td style=\"background-color:#fff5f0;color:#000000;\">1</td>"
            "<td>2</td></tr><tr><td style=\"background-color:#fff5f0;color:#000000;"
            "font-weight:bold;color:blue;\">3</td></tr></table>");
}

TEST(SanitizeTest, AStyleSheetMakesNoPageMuchLarger) {
  std::string html = "<style>#a{background-color:#fff5f0}</style>";
  for (int i = 0; i < 1000; ++i) {
    html += "<p id=a>x</p>";
  }
  EXPECT_LT(safe(html).size(), html.size());
  std::string selectors;
  std::string elements;
  for (int i = 0; i < 100'000; ++i) {
    selectors += "#" + std::to_string(i) + ",";
    elements += "<p id=" + std::to_string(i) + ">";
  }
  const std::string value(90, '1');
  html = "<style>" + selectors + "#x{color:" + value + ";background-color:" + value + "}</style>";
  EXPECT_LT(safe(html + elements).size(), html.size() + 2 * elements.size() + (5U << 20));
}

TEST(SanitizeTest, BrokenStyleSheetsAreNone) {
  for (const char* const sheet :
       {"#a{", "#a}", "{}", "#a{color:red", "@media x { #a{color:red} }", "#a b{color:red}",
        "#a{color:url(x)}", "#a{color:expression(1)}", "#a\\0 {color:red}", "/*#a{*/color:red}"}) {
    EXPECT_EQ(safe("<style>" + std::string(sheet) + "</style><p id=a>x</p>"), "<p>x</p>") << sheet;
  }
}

}  // namespace
}  // namespace glovebox::notebook
