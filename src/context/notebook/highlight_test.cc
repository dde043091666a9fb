// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/highlight.h"

#include <string>

#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

// The text of HTML without its tags; entities stay.
std::string without_tags(const std::string& html) {
  std::string text;
  bool in_tag = false;
  for (const char c : html) {
    in_tag = c == '<' || in_tag;
    if (!in_tag) {
      text += c;
    }
    in_tag = in_tag && c != '>';
  }
  return text;
}

TEST(HighlightTest, MarksTheWordsOfPython) {
  EXPECT_EQ(highlight("def f(x): # c", "python"),
            "<span class=\"k\">def</span> <span class=\"m\">f</span>(x): "
            "<span class=\"c\"># c</span>");
  EXPECT_EQ(highlight("f'''a\n'b'''+1e-3", "python"),
            "<span class=\"s\">f&#39;&#39;&#39;a\n&#39;b&#39;&#39;&#39;</span>+"
            "<span class=\"n\">1e-3</span>");
  EXPECT_EQ(highlight("%time x\n@d\na.print", "python"),
            "<span class=\"d\">%time x</span>\n<span class=\"d\">@d</span>\na.print");
}

TEST(HighlightTest, MarksTheWordsOfOtherLanguages) {
  EXPECT_EQ(highlight("select 'it''s' -- x", "SQL"),
            "<span class=\"k\">select</span> <span class=\"s\">&#39;it&#39;</span>"
            "<span class=\"s\">&#39;s&#39;</span> <span class=\"c\">-- x</span>");
  EXPECT_EQ(highlight("echo ${#a} $b # c", "bash"),
            "<span class=\"l\">echo</span> <span class=\"l\">${#a}</span> "
            "<span class=\"l\">$b</span> <span class=\"c\"># c</span>");
  EXPECT_EQ(highlight("let s = `a\nb`; /* c", "ts"),
            "<span class=\"k\">let</span> s = <span class=\"s\">`a\nb`</span>; "
            "<span class=\"c\">/* c</span>");
  EXPECT_EQ(highlight("is.na(x) <- TRUE", "R"),
            "<span class=\"m\">is.na</span>(x) &lt;- <span class=\"l\">TRUE</span>");
}

TEST(HighlightTest, EscapesCodeInUnknownLanguages) {
  EXPECT_EQ(highlight("<script>", "brainfuck"), "&lt;script&gt;");
}

TEST(HighlightTest, KeepsEveryCharacterOfAnyInput) {
  constexpr std::string_view kPieces = "a1\"'`\\\n #/*{}$@%-.(é<";
  std::string text;
  std::size_t state = 12345;
  for (int i = 0; i < 4'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += kPieces[(state >> 33) % kPieces.size()];
  }
  const std::string expected = highlight(text, "unknown");
  for (const char* const language : {"python", "js", "r", "bash", "sql", "julia", "c++"}) {
    EXPECT_EQ(without_tags(highlight(text, language)), expected) << language;
  }
}

}  // namespace
}  // namespace glovebox::notebook
