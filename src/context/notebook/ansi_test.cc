// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/ansi.h"

#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

TEST(AnsiToHtmlTest, EscapesTexts) {
  EXPECT_EQ(ansi_to_html("<b> & \"'\x01\xff"), "&lt;b&gt; &amp; &quot;&#39;\xEF\xBF\xBD");
}

TEST(AnsiToHtmlTest, NamesColoursByClass) {
  EXPECT_EQ(ansi_to_html("\x1b[1;31ma<\x1b[0mb"), "<span class=\"fg1 b\">a&lt;</span>b");
  EXPECT_EQ(ansi_to_html("\x1b[97;104mx"), "<span class=\"fg15 bg12\">x</span>");
  EXPECT_EQ(ansi_to_html("\x1b[38;5;9mx"), "<span class=\"fg9\">x</span>");
}

TEST(AnsiToHtmlTest, WritesLargePalettesAsStyles) {
  EXPECT_EQ(ansi_to_html("\x1b[38;5;208mx"), "<span style=\"color:#ff8700;\">x</span>");
  EXPECT_EQ(ansi_to_html("\x1b[48;2;1;2;255mx"),
            "<span style=\"background-color:#0102ff;\">x</span>");
  EXPECT_EQ(ansi_to_html("\x1b[38;5;255mx"), "<span style=\"color:#eeeeee;\">x</span>");
}

TEST(AnsiToHtmlTest, InverseSwapsTheColours) {
  EXPECT_EQ(ansi_to_html("\x1b[7;31mx"), "<span class=\"fgpage bg1\">x</span>");
  EXPECT_EQ(ansi_to_html("\x1b[7mx\x1b[27my"), "<span class=\"fgpage bgtext\">x</span>y");
}

TEST(AnsiToHtmlTest, LeavesOtherSequencesOut) {
  EXPECT_EQ(ansi_to_html("a\x1b[2Kb\x1b]8;;http://x\x07"
                         "c\x1b[1"),
            "abc");
}

TEST(AnsiToHtmlTest, OddColoursAreNone) {
  for (const char* const text : {"\x1b[38mx", "\x1b[38;5mx", "\x1b[38;5;999mx", "\x1b[38;2;1mx",
                                 "\x1b[;;;;mx", "\x1b[99999999999999999999mx"}) {
    EXPECT_EQ(ansi_to_html(text), "x") << text;
  }
}

}  // namespace
}  // namespace glovebox::notebook
