// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

std::optional<std::uint64_t> parsed(std::string_view text) {
  const auto bytes = parse_bytes(text);
  return bytes ? std::optional(bytes->count) : std::nullopt;
}

TEST(ParseBytesTest, TakesABareNumberForBytes) {
  EXPECT_THAT(parsed("0"), Optional(0U));
  EXPECT_THAT(parsed("1048576"), Optional(1'048'576U));
  EXPECT_THAT(parsed("17B"), Optional(17U));
}

TEST(ParseBytesTest, TakesLettersForPowersOf1024WhateverTheCase) {
  for (const auto& [text, count] : {std::pair{"512K", 512_KiB},
                                    {"512k", 512_KiB},
                                    {"3M", 3_MiB},
                                    {"3m", 3_MiB},
                                    {"2G", 2_GiB},
                                    {"2g", 2_GiB},
                                    {"1T", 1024_GiB},
                                    {"1t", 1024_GiB}}) {
    EXPECT_THAT(parsed(text), Optional(count.count)) << text;
  }
}

TEST(ParseBytesTest, TakesBOrIBBehindTheLetter) {
  EXPECT_THAT(parsed("4KB"), Optional(4096U));
  EXPECT_THAT(parsed("4KiB"), Optional(4096U));
  EXPECT_THAT(parsed("4kiB"), Optional(4096U));
}

TEST(ParseBytesTest, RoundsFractionsDown) {
  EXPECT_THAT(parsed("1.5G"), Optional(1536U << 20));
  EXPECT_THAT(parsed("0.0009K"), Optional(0U));
  EXPECT_THAT(parsed("1.9"), Optional(1U));
  EXPECT_THAT(parsed(".5K"), Optional(512U));
}

TEST(ParseBytesTest, RefusesWhatIsNoSize) {
  for (const std::string_view text :
       {"",     " ",    "K",   "iB",  "x",     "-1",       "-1K", "+1",  " 1",
        "1 ",   "1 K",  "1KK", "1Ki", "1KiBs", "1iB",      "1E",  "1e3", "0x10",
        "1,5K", "1..5", "nan", "inf", "-inf",  "infinity", "infT"}) {
    EXPECT_EQ(parsed(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseBytesTest, RefusesBytesBehindAZero) {
  EXPECT_EQ(parsed(std::string_view("1\0", 2)), std::nullopt);
  EXPECT_EQ(parsed(std::string_view("1K\0", 3)), std::nullopt);
}

TEST(ParseBytesTest, RefusesSizesThatOverflow) {
  EXPECT_EQ(parsed("8388608T"), std::nullopt);
  EXPECT_EQ(parsed("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parsed("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parsed("18446744073709551617K"), std::nullopt);
  EXPECT_EQ(parsed(std::string(400, '9')), std::nullopt);
  EXPECT_EQ(parsed(std::string(300, '9') + "T"), std::nullopt);
}

TEST(ParseBytesTest, TakesWhatJustFits63Bits) {
  EXPECT_THAT(parsed("8388607T"), Optional(8'388'607ULL << 40));
  EXPECT_THAT(parsed("9223372036854775807"), Optional(9'223'372'036'854'775'807U));
  EXPECT_THAT(parsed("8388607.9999999999999999999999T"), Optional(9'223'372'036'854'775'807U));
}

TEST(ParseBytesTest, KeepsEveryByteOfALargeNumber) {
  EXPECT_THAT(parsed("9007199254740993"), Optional(9'007'199'254'740'993U));
}

TEST(ParseBytesTest, SaysWhatIsWrongAndWhatToWrite) {
  const auto bytes = parse_bytes("lots");

  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(bytes.error().message(), "invalid size 'lots'");
  EXPECT_THAT(bytes.error().hint(), HasSubstr("512M"));
}

TEST(BytesToStringTest, GivesThreeSignificantDigits) {
  EXPECT_EQ(to_string(Bytes{0}), "0 B");
  EXPECT_EQ(to_string(Bytes{17}), "17 B");
  EXPECT_EQ(to_string(Bytes{1023}), "1023 B");
  EXPECT_EQ(to_string(1_KiB), "1 KiB");
  EXPECT_EQ(to_string(Bytes{1270}), "1.24 KiB");
  EXPECT_EQ(to_string(Bytes{12'700}), "12.4 KiB");
  EXPECT_EQ(to_string(Bytes{127'000}), "124 KiB");
  EXPECT_EQ(to_string(512_MiB), "512 MiB");
  EXPECT_EQ(to_string(2048_GiB), "2 TiB");
}

TEST(BytesToStringTest, HasNoUnitAboveTebibytes) {
  EXPECT_EQ(to_string(Bytes{UINT64_MAX}), "16777216 TiB");
}

TEST(BytesToStringTest, GivesNoFourthDigitWhenRoundingCarries) {
  EXPECT_EQ(to_string(Bytes{10'239}), "10.0 KiB");
  EXPECT_EQ(to_string(Bytes{102'399}), "100 KiB");
}

TEST(BytesTest, CompareByCount) {
  EXPECT_EQ(1024_KiB, 1_MiB);
  EXPECT_LT(1023_MiB, 1_GiB);
}

}  // namespace
}  // namespace glovebox
