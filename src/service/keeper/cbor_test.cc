// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/cbor.h"

#include <gtest/gtest.h>

#include "base/json/json.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;

TEST(CborTest, EveryKindOfValueArrivesAsItWasSent) {
  const json sent = {{"null", nullptr},
                     {"true", true},
                     {"negative", -5},
                     {"unsigned", 1UL << 63},
                     {"float", 0.5},
                     {"text", "ü"},
                     {"bytes", std::string("\xff\0x", 3)},
                     {"binary", json::binary({1, 2})},
                     {"array", {1, {2, {{"three", 3}}}, json::array()}},
                     {"object", {{"in", {{"in", json::object()}}}}}};

  EXPECT_EQ(unpack(pack(sent)), sent);
}

TEST(CborTest, AValueNestedAsDeepAsAllowedIsRead) {
  const std::string arrays(kMostNested - 1, '\x81');

  EXPECT_TRUE(unpack(arrays + '\x80').is_array());
  EXPECT_TRUE(unpack(arrays + "\x81\x80").is_null());
}

// Each of these bytes would cost a stack frame of the keeper.
TEST(CborTest, AValueNestedTooDeepIsNull) {
  EXPECT_TRUE(unpack(std::string(30'000'000, '\x81')).is_null());
}

TEST(CborTest, TooManyValuesAreNull) {
  const auto array_of = [](std::uint32_t count) {
    std::string bytes = "\x9a";
    for (const int shift : {24, 16, 8, 0}) {
      bytes += static_cast<char>(count >> shift & 0xff);
    }
    return bytes + std::string(count, '\0');
  };

  EXPECT_EQ(unpack(array_of(kMostValues - 1)).size(), kMostValues - 1);
  EXPECT_TRUE(unpack(array_of(kMostValues)).is_null());
}

TEST(CborTest, WhatIsNoCborIsNull) {
  for (const std::string bytes : {"", "\x81", "\xff", "\xa1\x01", "\x62x", "\x80\x80"}) {
    EXPECT_TRUE(unpack(bytes).is_null());
  }
}

}  // namespace
}  // namespace glovebox::keeper
