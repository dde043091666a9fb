// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/codec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "spec/limit_fields.h"

namespace glovebox::keeper {
namespace {

TEST(CodecTest, EveryLimitArrivesAsItWasSent) {
  each_limit([](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    Limits sent;
    sent.*field.limit = Value(77);
    EXPECT_EQ(to_limits(unpack(pack(to_json(sent)))), sent) << field.name;
  });
}

TEST(CodecTest, EveryWishArrivesAsItWasSent) {
  each_wish([](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    LimitWishes sent;
    sent.*field.wish = Value(77);
    EXPECT_EQ(to_limit_wishes(unpack(pack(to_json(sent)))), sent) << field.name;
  });
}

// Records of former versions have these names.
TEST(CodecTest, LimitsKeepTheirNamesInRecords) {
  const LimitWishes wishes{.wall = std::chrono::milliseconds(5), .memory = Bytes{7}};
  EXPECT_EQ(to_json(wishes), nlohmann::json::parse(R"({"wall":5,"memory":7})"));
}

}  // namespace
}  // namespace glovebox::keeper
