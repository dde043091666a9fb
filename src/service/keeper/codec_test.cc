// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/codec.h"

#include <gtest/gtest.h>

#include "base/json/json.h"
#include "base/members.h"
#include "service/keeper/field_lists.h"
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

// `more`: rows for what lies further inside, less what does not cross or lies elsewhere.
template <typename T>
constexpr bool lists_all(int more = 0) {
  constexpr int kRows = std::tuple_size_v<std::remove_cvref_t<decltype(kFields<T>)>>;
  return kRows == static_cast<int>(count_of_members<T>()) + more;
}

TEST(CodecTest, EveryMemberIsInTheListOfItsStruct) {
  EXPECT_TRUE(lists_all<TierWish>());
  EXPECT_TRUE(lists_all<Command>());
  EXPECT_TRUE(lists_all<Mount>());
  EXPECT_TRUE(lists_all<TemplateOrder>());
  EXPECT_TRUE(lists_all<PackageIndex>());
  EXPECT_TRUE(lists_all<ImageOrder>());
  EXPECT_TRUE(lists_all<CreateOrder>(1));  // Two of its lifetime.
  EXPECT_TRUE(lists_all<SandboxUsage>());
  EXPECT_TRUE(lists_all<ContextRequest>());
  EXPECT_TRUE(lists_all<ContextInfo>());
  EXPECT_TRUE(lists_all<Tool>());
  EXPECT_TRUE(lists_all<ToolOffer>());
  EXPECT_TRUE(lists_all<ExecuteRequest>(2));  // Three of its dry run.
  EXPECT_TRUE(lists_all<InputReply>());
  EXPECT_TRUE(lists_all<ToolReply>(1));  // Two of its answer.
  EXPECT_TRUE(lists_all<ToolWait>());
  EXPECT_TRUE(lists_all<CodePlace>());
  EXPECT_TRUE(lists_all<Completion>());
  EXPECT_TRUE(lists_all<Inspection>());
  EXPECT_TRUE(
      // Its policies, its image, as_guest and replay_network are resolved by then.
      lists_all<RunRequest>(-4));
  EXPECT_TRUE(lists_all<NetworkTape>());
  EXPECT_TRUE(lists_all<JudgeCase>());
  EXPECT_TRUE(lists_all<JudgeRequest>());
  EXPECT_TRUE(lists_all<ProcessRequest>(
      0));  // Two more of its dry run; not its terminal, and whom it tells.
  EXPECT_TRUE(lists_all<ProcessInfo>());
  EXPECT_TRUE(lists_all<ProcessEvent>());
}

TEST(CodecTest, WhatIsMissingOrOfAnotherTypeIsEmpty) {
  for (const nlohmann::json& from :
       {nlohmann::json(), nlohmann::json(7), nlohmann::json::array({1, "x"}),
        nlohmann::json::parse(R"({"code":1,"env":[["a"],"b",["c","d"]],"store_history":"yes",
                                 "limits":[],"tools":7,"dry_run_timeout":"1"})")}) {
    const ExecuteRequest arrived = to_execute_request(from);
    EXPECT_TRUE(arrived.code.empty());
    EXPECT_FALSE(arrived.store_history);
    EXPECT_EQ(arrived.limits, LimitWishes());
    EXPECT_TRUE(arrived.tools.tools.empty());
    EXPECT_EQ(arrived.dry_run.timeout.count(), 0);
    EXPECT_EQ(arrived.env, from.is_object() ? Environment({{"c", "d"}}) : Environment());
  }
}

TEST(CodecTest, ATerminalArrivesWithItsSize) {
  ProcessRequest sent{.command = {.argv = {"sh"}, .env = {{"A", "1"}}, .cwd = "/tmp"}};
  EXPECT_FALSE(to_process_request(unpack(pack(to_json(sent)))).terminal);
  sent.terminal = ProcessRequest::Terminal{.columns = 132, .rows = 50};
  const ProcessRequest arrived = to_process_request(unpack(pack(to_json(sent))));
  EXPECT_EQ(arrived.command, sent.command);
  ASSERT_TRUE(arrived.terminal);
  EXPECT_EQ(arrived.terminal->columns, 132);
  EXPECT_EQ(arrived.terminal->rows, 50);
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
