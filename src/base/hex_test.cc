// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(HexTest, EveryByteComesBack) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
  }
  const std::string text = to_hex(bytes);
  EXPECT_EQ(text.size(), 512U);
  EXPECT_EQ(text.substr(0, 6) + text.substr(506), "000102fdfeff");
  EXPECT_TRUE(is_hex(text));
  EXPECT_EQ(from_hex(text), bytes);
}

TEST(HexTest, RefusesWhatItDoesNotMake) {
  EXPECT_EQ(from_hex("abc"), std::nullopt);
  EXPECT_EQ(from_hex("AB"), std::nullopt);
  EXPECT_EQ(from_hex("0g"), std::nullopt);
  EXPECT_FALSE(is_hex("0F"));
  EXPECT_EQ(from_hex(""), "");
}

}  // namespace
}  // namespace glovebox
