// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

using namespace std::string_literals;

TEST(Base64Test, EncodesTheVectorsOfRfc4648) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xFB\xFF\xFE"s), "+//+");
  EXPECT_EQ(to_base64("\0\0"s), "AAA=");
}

TEST(Base64Test, ReadsBothAlphabetsWithAndWithoutPadding) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("YWJj"), "abc");
  EXPECT_EQ(from_base64("YQ=="), "a");
  EXPECT_EQ(from_base64("YQ"), "a");
  EXPECT_EQ(from_base64("_-8"), from_base64("/+8="));
}

TEST(Base64Test, ReadsWhatItWrites) {
  std::string bytes;
  for (int i = 0; i < 260; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes) << i;
    bytes += static_cast<char>(i);
  }
}

TEST(Base64Test, WhiteSpaceIsSkipped) {
  EXPECT_EQ(from_base64("Zm9v\r\nYm Fy\n"), "foobar");
  EXPECT_EQ(from_base64("YQ=\n=\n"), "a");
}

TEST(Base64Test, WhatIsNoBase64IsRefused) {
  for (const char* text : {"Y", "YWJjY", "Y!==", "YQ==YQ==", "YW\tJj", "\xff", "Zm9v\xc3\xa9"}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
  EXPECT_FALSE(from_base64("YW\0J"s));
}

}  // namespace
}  // namespace glovebox
