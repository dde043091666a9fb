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

TEST(CodecTest, OnlyAnOrderWithANetworkLetsASandboxOut) {
  CreateOrder order;
  EXPECT_FALSE(to_create_order(unpack(pack(to_json(order)))).network);
  order.network =
      NetworkOrder{.rules = {.allow = {*NetworkRule::parse("*.example:443")}, .allow_first = true},
                   .public_only = false};
  const auto arrived = to_create_order(unpack(pack(to_json(order)))).network;
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->rules, order.network->rules);
  EXPECT_FALSE(arrived->public_only);
  // What cannot be read allows nothing, and nothing but public addresses.
  const auto wrong = to_network_order({{"rules", 7}});
  ASSERT_TRUE(wrong);
  EXPECT_FALSE(lets_out(wrong->rules));
  EXPECT_TRUE(wrong->public_only);
}

TEST(CodecTest, ConnectionsArriveAsTheyWereRecorded) {
  ConnectionRecord record;
  record.host = "a\xff";
  record.port = 443;
  record.rule = "default";
  const SandboxConnections sent{.connections = {record}, .more = 3};
  const SandboxConnections arrived = to_connections(unpack(pack(to_json(sent))));
  EXPECT_EQ(arrived.connections, sent.connections);
  EXPECT_EQ(arrived.more, 3U);
  EXPECT_TRUE(to_connections({{"connections", {1, "x"}}}).connections.empty());
}

}  // namespace
}  // namespace glovebox::keeper
