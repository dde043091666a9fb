// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::string_literals;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string replacements(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += kReplacement;
  }
  return text;
}

std::string stripped(std::string_view bytes) { return AnsiStripper().strip(bytes); }

TEST(Utf8Test, AcceptsTheFirstAndLastCharacterOfEachLength) {
  for (const std::string& text :
       {""s, "\0"s, "\x7F"s, "\xC2\x80"s, "\xDF\xBF"s, "\xE0\xA0\x80"s, "\xED\x9F\xBF"s,
        "\xEE\x80\x80"s, "\xEF\xBF\xBF"s, "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s}) {
    EXPECT_TRUE(is_utf8(text)) << ::testing::PrintToString(text);
    EXPECT_EQ(to_utf8("<" + text + ">"), "<" + text + ">");
  }
}

TEST(Utf8Test, RefusesWhatDecodersDisagreeAbout) {
  for (const std::string& text :
       {"\xC0\x80"s,  // NUL in two bytes,
        "\xC1\xBF"s,  // overlong forms,
        "\xE0\x9F\xBF"s, "\xF0\x8F\xBF\xBF"s,
        "\xED\xA0\x80"s,  // a surrogate,
        "\xED\xBF\xBF"s,
        "\xF4\x90\x80\x80"s,                       // above U+10FFFF,
        "\xF5\x80\x80\x80"s, "\xFF"s, "\x80"s}) {  // a continuation of nothing.
    EXPECT_FALSE(is_utf8(text)) << ::testing::PrintToString(text);
    EXPECT_FALSE(is_utf8("a" + text + "b")) << ::testing::PrintToString(text);
    EXPECT_EQ(to_utf8(text), replacements(static_cast<int>(text.size())));
  }
}

TEST(Utf8Test, RefusesACharacterCutAtAnyByte) {
  for (const std::string_view character : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    for (std::size_t size = 1; size < character.size(); ++size) {
      EXPECT_FALSE(is_utf8(character.substr(0, size)));
      EXPECT_EQ(to_utf8(character.substr(0, size)), kReplacement);
    }
  }
}

TEST(Utf8Test, ReplacesMaximalSubparts) {
  // The example of the Unicode Standard, table 3-8, and a second lead inside a sequence.
  EXPECT_EQ(to_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + replacements(3) + "b" + replacements(1) + "c" + replacements(2) + "d");
  EXPECT_EQ(to_utf8("\xE2\x82\xE2\x82\xAC"), replacements(1) + "\xE2\x82\xAC");
}

TEST(Utf8Test, MakesEveryPairOfBytesValid) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      const std::string text = to_utf8(bytes);
      ASSERT_TRUE(is_utf8(text)) << first << ' ' << second;
      ASSERT_EQ(text == bytes, is_utf8(bytes)) << first << ' ' << second;
    }
  }
}

TEST(AnsiStripperTest, LeavesPlainTextAlone) {
  const std::string text = "tab\t bell\a\r\n\0 \x7F \xC3\xA9 \xFF [31m"s;

  EXPECT_EQ(stripped(text), text);
}

TEST(AnsiStripperTest, RemovesEachKindOfSequence) {
  for (const std::string_view sequence :
       {"\x1b[31m", "\x1b[m", "\x1b[?25l", "\x1b[38;2;1;2;3m", "\x1b[1 q", "\x1b[2J",  // CSI
        "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\",                                    // OSC
        "\x1bP1$r0m\x1b\\", "\x1b_payload\x1b\\", "\x1b^note\x1b\\", "\x1bXsos\x1b\\", "\033c",
        "\0337", "\x1bM", "\x1b(B", "\x1b#8"}) {
    EXPECT_EQ(stripped("<" + std::string(sequence) + ">"), "<>")
        << ::testing::PrintToString(sequence);
  }
}

TEST(AnsiStripperTest, GivesTheSameHoweverTheStreamIsSplit) {
  const std::string_view stream =
      "a\x1b[31mb\x1b]0;t\x1b\\c\x1b(Bd\x1bPq\x1b\\e\x1b]8;;x\af\x1b"
      "cg";
  for (std::size_t split = 0; split <= stream.size(); ++split) {
    AnsiStripper stripper;
    const std::string front = stripper.strip(stream.substr(0, split));
    EXPECT_EQ(front + stripper.strip(stream.substr(split)), "abcdefg") << "split at " << split;
  }
}

TEST(AnsiStripperTest, HoldsBackASequenceThatNeverEnds) {
  EXPECT_EQ(stripped("a\x1b"), "a");
  EXPECT_EQ(stripped("a\x1b[31"), "a");
  EXPECT_EQ(stripped("a\x1b]0;title"), "a");
}

TEST(AnsiStripperTest, LetsNoEscapeThroughFromAnyMixture) {
  // Every string of six over the bytes that steer the parser.
  constexpr std::string_view kBytes = "\x1b[]\\m\a";
  for (int number = 0; number < 6 * 6 * 6 * 6 * 6 * 6; ++number) {
    std::string bytes;
    for (int rest = number, i = 0; i < 6; ++i, rest /= 6) {
      bytes.push_back(kBytes[static_cast<std::size_t>(rest % 6)]);
    }
    ASSERT_THAT(stripped(bytes), Not(HasSubstr("\x1b"))) << ::testing::PrintToString(bytes);
  }
}

TEST(AnsiStripperTest, TakesAnEscapeInsideASequenceForTheStartOfTheNext) {
  EXPECT_EQ(stripped("a\x1b[31\x1b[0mb"), "ab");
  EXPECT_EQ(stripped("a\x1b\x1b[0mb"), "ab");
}

TEST(AnsiStripperTest, EndsAStringAtItsTerminatorBehindAnotherEscape) {
  EXPECT_EQ(stripped("a\x1b]0;t\x1b\x1b\\b"), "ab");
}

TEST(PrintableTest, EscapesWhatMovesTheCursorOrForgesALine) {
  EXPECT_EQ(printable("a\nb"), "a\\nb");
  EXPECT_EQ(printable("a\rb\tc\bd"), "a\\x0db\\x09c\\x08d");
  EXPECT_EQ(printable("\x1b[2J\a\x7F"), "\\x1b[2J\\x07\\x7f");
  EXPECT_EQ(printable("\0"s), "\\x00");
}

TEST(PrintableTest, EscapesControlCharactersOfTwoBytes) {
  // In UTF-8 terminals U+009B is CSI and U+0085 a new line.
  EXPECT_THAT(printable("\xC2\x9B"
                        "2J"),
              Not(HasSubstr("\xC2\x9B")));
  EXPECT_THAT(printable("a\xC2\x85"
                        "b"),
              Not(HasSubstr("\xC2\x85")));
}

TEST(PrintableTest, EscapesNoLetterOfTwoBytes) {
  EXPECT_EQ(printable("\xC2\x80|\xC2\x9F|\xC2\xA0|\xC3\x80"), "\\x80|\\x9f|\xC2\xA0|\xC3\x80");
}

TEST(PrintableTest, EscapesWhatTurnsTheDirectionOfText) {
  EXPECT_EQ(printable("x\u202egnp.exe"), "x\\u202egnp.exe");
  EXPECT_EQ(printable("\u200e\u200f\u202a\u2066\u2069"), "\\u200e\\u200f\\u202a\\u2066\\u2069");
  EXPECT_EQ(printable("\u2013\u202f\u2065\u206a"), "\u2013\u202f\u2065\u206a");
}

TEST(PrintableTest, GivesUtf8WhateverTheBytes) {
  EXPECT_EQ(printable("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(printable("a\xFFz"), "a" + replacements(1) + "z");
  // A byte that a terminal with eight-bit controls would take for CSI.
  EXPECT_EQ(printable("\x9B"
                      "2J"),
            replacements(1) + "2J");
}

}  // namespace
}  // namespace glovebox
