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

TEST(CodecTest, ToolsAndWhatTheyReturnArriveAsTheyWereSent) {
  ExecuteRequest sent{.code = "1"};
  sent.tools = {.tools = {{.name = "find", .description = "d", .parameters = R"({"z":1,"a":2})"}},
                .calls = 0,
                .wait = std::chrono::milliseconds(5)};
  EXPECT_EQ(to_execute_request(unpack(pack(to_json(sent)))).tools, sent.tools);
  for (const ToolAnswer& answer :
       {ToolAnswer{.result = R"({"z":1})", .error = {}}, ToolAnswer{.error = "no"}}) {
    const ToolReply reply =
        to_tool_reply(unpack(pack(to_json(ToolReply{.call = "17", .answer = answer}))));
    EXPECT_EQ(reply.call, "17");
    EXPECT_EQ(reply.answer, answer);
  }
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

TEST(CodecTest, IndexesOfPackagesArriveAsTheyWereSent) {
  CreateOrder order;
  order.indexes = {{.manager = PackageManager::kNpm, .socket = "/run/npm.sock"},
                   {.manager = PackageManager::kPip, .socket = "/run/pip.sock"}};
  EXPECT_EQ(to_create_order(unpack(pack(to_json(order)))).indexes, order.indexes);
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
