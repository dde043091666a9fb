// SPDX-License-Identifier: Apache-2.0
#include "context/agent_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace glovebox::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(AgentProtocolTest, ACompletionStaysWithinItsCode) {
  const auto completion =
      decode_completion(R"({"matches": ["path", 1, "pathsep"], "start": 3, "end": 5})", 5);
  ASSERT_TRUE(completion) << completion.error().message();
  EXPECT_THAT(completion->matches, ElementsAre("path", "pathsep"));
  EXPECT_EQ(completion->start, 3);
  EXPECT_EQ(completion->end, 5);
  for (const char* const wrong :
       {R"({"matches": [], "start": 3, "end": 6})", R"({"matches": [], "start": 4, "end": 3})",
        R"({"matches": [], "start": -1, "end": 3})", R"({"matches": [], "start": 1e99, "end": 3})",
        R"({"matches": {}, "start": 0, "end": 0})", R"({"start": 0, "end": 0})", "[]", "{"}) {
    const auto answer = decode_completion(wrong, 5);
    ASSERT_FALSE(answer) << wrong;
    EXPECT_EQ(answer.error().code(), ErrorCode::kConflict) << wrong;
  }
}

TEST(AgentProtocolTest, ACompletionIsBounded) {
  std::string matches = "\"" + std::string(5'000, 'x') + "\"";
  for (int i = 0; i < 20'000; ++i) {
    matches += ",\"match" + std::to_string(i) + "\"";
  }
  const auto many = decode_completion("{\"start\":0,\"end\":0,\"matches\":[" + matches + "]}", 0);
  ASSERT_TRUE(many);
  EXPECT_EQ(many->matches.size(), 10'000);
  EXPECT_EQ(many->matches.front(), "match0");
}

TEST(AgentProtocolTest, AnInspectionHasTextsOfABoundedSize) {
  const auto inspection = decode_inspection(
      R"({"found": true, "data": {"text/plain": "doc", "application/json": {}, "text/huge": ")" +
      std::string(2UL << 20, 'x') + "\"}}");
  ASSERT_TRUE(inspection) << inspection.error().message();
  EXPECT_TRUE(inspection->found);
  EXPECT_THAT(inspection->data, ElementsAre(Pair("text/plain", "doc")));
  const auto nothing = decode_inspection(R"({"found": false, "data": {"text/plain": "forged"}})");
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(nothing->found);
  EXPECT_TRUE(nothing->data.empty());
}

TEST(AgentProtocolTest, WhatAnAgentCannotDoIsSaidInItsWords) {
  const auto failed = decode_inspection(R"({"error": "KeyboardInterrupt:\u001b[2J"})");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kConflict);
  EXPECT_THAT(failed.error().message(), HasSubstr("KeyboardInterrupt:\\x1b[2J"));
}

std::string display(const std::string& value) {
  return R"({"data":{"application/json":)" + value + "}}";
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

bool is_taken(const std::string& payload) {
  return static_cast<bool>(decode_event(Reply::kDisplay, payload));
}

TEST(AgentProtocolTest, DepthIsBoundedHoweverShortAMessageIs) {
  EXPECT_TRUE(is_taken(display(nested(150))));
  EXPECT_FALSE(is_taken(display(nested(250))));
  EXPECT_FALSE(is_taken(display(nested(100'000))));
  std::string objects;
  for (int i = 0; i < 250; ++i) {
    objects += R"({"a":)";
  }
  EXPECT_FALSE(is_taken(display(objects + "1" + std::string(250, '}'))));
}

TEST(AgentProtocolTest, BracketsInTextsAreNoDepth) {
  EXPECT_TRUE(is_taken(display('"' + std::string(10'000, '[') + "\\\"[" + '"')));
}

TEST(AgentProtocolTest, ValuesAreBounded) {
  const auto many = [](std::size_t count) {
    std::string list = "[0";
    for (std::size_t i = 1; i < count; ++i) {
      list += ",0";
    }
    return list + "]";
  };
  EXPECT_TRUE(is_taken(display(many(1'000))));
  EXPECT_FALSE(is_taken(display(many(2'000'000))));
}

TEST(AgentProtocolTest, AMimeValueStaysTheBytesThatItWas) {
  const auto event = decode_event(
      Reply::kResult,
      R"({"data": {"a\u0062": {"z": 1.10, "a": "\u00e9\/"}, "text/plain":"x"}, "metadata": {"b":1e2}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data,
            (MimeBundle{{"ab", R"({"z": 1.10, "a": "\u00e9\/"})"}, {"text/plain", R"("x")"}}));
  EXPECT_EQ(event->metadata, R"({"b":1e2})");
}

TEST(AgentProtocolTest, AMimeValueIsInOneLine) {
  const auto event = decode_event(Reply::kResult, "{\"data\":\n{\"a\":[1,\r\n2]}}");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data, (MimeBundle{{"a", "[1,2]"}}));
}

TEST(AgentProtocolTest, WhatIsNoBundleIsNone) {
  for (const char* const data : {"1", "[]", "null", R"("{}")"}) {
    const auto event = decode_event(
        Reply::kDisplay, std::string(R"({"data":)") + data + R"(,"metadata":)" + data + "}");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->data, MimeBundle{}) << data;
    EXPECT_EQ(event->metadata, "{}") << data;
  }
}

TEST(AgentProtocolTest, ACallOfAToolKeepsTheOrderOfItsArguments) {
  const auto call = decode_tool_call(R"({"call":7,"name":"find","arguments":{ "z": 1.10,
      "a": "x\ny" }})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->number, 7U);
  EXPECT_EQ(call->name, "find");
  EXPECT_EQ(call->arguments, R"({"z":1.10,"a":"x\ny"})") << "in one line";
  EXPECT_EQ(call->refusal, "");
}

TEST(AgentProtocolTest, WrongArgumentsAreRefusedAndTheAgentIsTold) {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  for (const std::string& arguments :
       {std::string("[1]"), std::string("null"), "{\"a\":" + deep + "}",
        "{\"a\":\"" + std::string(ToolCall::kMaxArguments, 'x') + "\"}"}) {
    const auto call = decode_tool_call(R"({"call":1,"name":"find","arguments":)" + arguments + "}");
    ASSERT_TRUE(call);
    EXPECT_EQ(call->arguments, "");
    EXPECT_NE(call->refusal, "");
  }
  for (const char* const payload : {"", "[]", "{}", R"({"call":-1,"arguments":{}})",
                                    R"({"call":"1"})", R"({"call":4294967296})"}) {
    EXPECT_FALSE(decode_tool_call(payload)) << payload;
  }
}

TEST(AgentProtocolTest, ToolsGoWithTheCode) {
  const std::vector<Tool> tools{
      {.name = "find", .description = "", .parameters = R"({"z":1,"a":2})"}};
  EXPECT_EQ(
      encode(ExecuteRequest{.code = "1", .tools = &tools}),
      R"({"code":"1","tools":[{"name":"find","description":"","parameters":{"z":1,"a":2}}]})");
  EXPECT_EQ(encode(ExecuteRequest{.code = "1"}), R"({"code":"1"})");
}

}  // namespace
}  // namespace glovebox::agent
