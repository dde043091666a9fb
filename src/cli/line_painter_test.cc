// SPDX-License-Identifier: Apache-2.0
#include "cli/line_painter.h"

#include <gtest/gtest.h>

#include <clocale>

namespace glovebox::cli {
namespace {

constexpr const char* kRed = "\x1b[31m";

class LinePainterTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }

  static std::optional<std::string> paint(std::string_view text, std::size_t cursor) {
    return paint_line({.prompt = 4, .text = text, .cursor = cursor},
                      {{.begin = 0, .end = 2, .colour = kRed}}, {.columns = 20, .rows = 3});
  }
  static std::string drawn(const std::string& up, const std::string& text) {
    return "\x1b\x37" + up + "\r\x1b[4C\x1b[0m" + text + "\x1b[0m\x1b\x38";
  }
};

TEST_F(LinePainterTest, TheTextIsDrawnAgainAndTheCursorStays) {
  EXPECT_EQ(paint("if x", 4), drawn("", "\x1b[31mif\x1b[0m x"));
  EXPECT_EQ(paint("if x", 0), drawn("", "\x1b[31mif\x1b[0m x"));
}

TEST_F(LinePainterTest, RowsAboveTheCursorCount) {
  EXPECT_EQ(paint("if x\ny", 6), drawn("\x1b[1A", "\x1b[31mif\x1b[0m x\r\ny"));
  EXPECT_EQ(paint("if x\ny", 2), drawn("", "\x1b[31mif\x1b[0m x\r\ny"));
  // Sixteen columns are left of the first row; a wide character needs two.
  EXPECT_EQ(paint("if 456789012345世x", 19), drawn("\x1b[1A", "\x1b[31mif\x1b[0m 456789012345世x"));
}

TEST_F(LinePainterTest, WhatIsInDoubtIsNotDrawn) {
  EXPECT_FALSE(paint("if 4567890123456", 16)) << "the cursor is behind the last column";
  EXPECT_FALSE(paint("e\u0301", 3)) << "a character without a width";
  EXPECT_FALSE(paint("a\tb", 3)) << "a control character";
  EXPECT_FALSE(paint("a\xff", 2)) << "no UTF-8";
  EXPECT_FALSE(paint("1\n2\n3\n4", 1)) << "more rows than the screen has";
  EXPECT_FALSE(paint(std::string(10'000, 'x'), 1)) << "too long";
  EXPECT_FALSE(
      paint_line({.prompt = 19, .text = "x", .cursor = 1}, {}, {.columns = 20, .rows = 3}));
}

}  // namespace
}  // namespace glovebox::cli
