// SPDX-License-Identifier: Apache-2.0
#include "cli/code_colours.h"

#include <gtest/gtest.h>

#include <map>

namespace glovebox::cli {
namespace {

// The code, with a letter and brackets around what has a colour: k(eyword), s, c, n.
std::string marked(std::string_view language, std::string_view code) {
  const std::map<std::string_view, char> letters = {{"\x1b[35m", 'k'},
                                                    {"\x1b[33m", 's'},
                                                    {"\x1b[90m", 'c'},
                                                    {"\x1b[36m", 'n'}};
  std::string text;
  std::size_t at = 0;
  for (const ColouredPart& part : colour_code(language, code)) {
    text += code.substr(at, part.begin - at);
    text += letters.at(part.colour);
    text += "<" + std::string(code.substr(part.begin, part.end - part.begin)) + ">";
    at = part.end;
  }
  return text + std::string(code.substr(at));
}

TEST(CodeColoursTest, PythonIsToldApart) {
  for (const auto& [code, expected] : std::map<std::string_view, std::string_view>{
           {"for i in range(10):", "k<for> i k<in> range(n<10>):"},
           {"fork = x1 + import_", "fork = x1 + import_"},
           {"x = 'a' # b 'c'", "x = s<'a'> c<# b 'c'>"},
           {R"(rb"a\"b" + f'{x}')", R"(s<rb"a\"b"> + s<f'{x}'>)"},
           {"bar'x'", "bars<'x'>"},
           {"'open\nif", "s<'open>\nk<if>"},
           {"\"\"\"a\n'b' \"\" c\"\"\" if", "s<\"\"\"a\n'b' \"\" c\"\"\"> k<if>"},
           {"'''open\nif", "s<'''open\nif>"},
           {"1.5e3 0x_ff 2j", "n<1.5e3> n<0x_ff> n<2j>"},
           {"für = 'ä'\xff", "für = s<'ä'>\xff"},
           {"'\\", "s<'\\>"},
           {"", ""},
       }) {
    EXPECT_EQ(marked("python", code), expected);
  }
}

TEST(CodeColoursTest, TheShellIsToldApart) {
  for (const auto& [code, expected] : std::map<std::string_view, std::string_view>{
           {"if test -d x; then echo 'a b'; fi", "k<if> test -d x; k<then> echo s<'a b'>; k<fi>"},
           {"a#b # c", "a#b c<# c>"},
           {R"(echo "a \" $x" \")", R"(echo s<"a \" $x"> \")"},
           {"iffy done-x", "iffy k<done>-x"},
       }) {
    EXPECT_EQ(marked("bash", code), expected);
  }
}

TEST(CodeColoursTest, OtherLanguagesHaveNoColours) {
  EXPECT_TRUE(colour_code("r", "for (i in 1:3) 'x'").empty());
}

}  // namespace
}  // namespace glovebox::cli
