// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::string_view kOfEachLength = "aé€😀";  // 1, 2, 3 and 4 bytes.

std::string written(char32_t code) {
  std::string text;
  append_utf8(text, code);
  return text;
}

TEST(Utf8, WritesCharactersOfEachLengthAndNothingThatIsNone) {
  EXPECT_EQ(written('a') + written(0xE9) + written(0x20AC) + written(0x1F600), kOfEachLength);
  for (const char32_t edge : {0x7FU, 0x80U, 0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    EXPECT_TRUE(is_utf8(written(edge))) << std::hex << static_cast<unsigned>(edge);
  }
  EXPECT_EQ(written(0), std::string(1, '\0'));
  EXPECT_EQ(written(0x110000), "");
}

TEST(Utf8, CountsCharactersAndNotBytes) {
  EXPECT_EQ(count_characters(kOfEachLength), 4U);
  EXPECT_EQ(count_characters(""), 0U);
}

TEST(Utf8, CutsBetweenCharacters) {
  constexpr std::size_t kEnds[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (std::size_t most = 0; most < std::size(kEnds); ++most) {
    EXPECT_EQ(cut_at_character(kOfEachLength, most), kOfEachLength.substr(0, kEnds[most])) << most;
  }
}

TEST(Utf8, FindsWhatAnEndCutInTwo) {
  constexpr std::size_t kUnfinished[] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0};
  for (std::size_t size = 0; size < std::size(kUnfinished); ++size) {
    EXPECT_EQ(unfinished_character(kOfEachLength.substr(0, size)), kUnfinished[size]) << size;
  }
  EXPECT_EQ(unfinished_character("\x80\x80\x80\x80"), 0U) << "bytes that continue nothing";
}

}  // namespace
}  // namespace glovebox
