// SPDX-License-Identifier: Apache-2.0
#include "spec/code_place.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(CodePlaceTest, CountsCodePointsAndNotBytes) {
  // Two bytes, three bytes, four bytes (two UTF-16 units), and a letter with a combining mark.
  const std::string code = "\u00e9\u20ac\U0001f600e\u0301";
  EXPECT_EQ(cursor_of({.code = code}).value(), 5);
  EXPECT_EQ(cursor_of({.code = code, .cursor = 5}).value(), 5);
  EXPECT_EQ(cursor_of({.code = code, .cursor = 0}).value(), 0);
  EXPECT_EQ(cursor_of({}).value(), 0);
}

TEST(CodePlaceTest, RefusesACursorBeyondTheEndAndCodeThatIsTooLarge) {
  EXPECT_EQ(cursor_of({.code = "\U0001f600", .cursor = 2}).error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(cursor_of({.code = "a", .cursor = SIZE_MAX}).error().code(), ErrorCode::kInvalid);
  EXPECT_TRUE(cursor_of({.code = std::string(CodePlace::kMaxCode, 'a')}));
  EXPECT_EQ(cursor_of({.code = std::string(CodePlace::kMaxCode + 1, 'a')}).error().code(),
            ErrorCode::kInvalid);
}

}  // namespace
}  // namespace glovebox
