// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/fields.h"

#include <gtest/gtest.h>

#include "doors/rest/sandbox_json.h"
#include "spec/json/network_rules_json.h"

namespace glovebox::rest {
namespace {

template <typename T>
std::string complaint(Result<T> (*read)(Fields&), std::string_view text) {
  auto fields = Fields::parse(std::string(text));
  if (!fields) {
    return fields.error().message();
  }
  const auto answer = read(*fields);
  return answer ? "" : answer.error().message();
}

TEST(FieldsTest, WhatIsWrongIsNamed) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {R"({"timeot": 1})", "unknown field 'timeot'"},
      {R"({"limits": {"memroy": 1}})", "unknown field 'limits.memroy'"},
      {R"({"template": 5})", "field 'template': expected a string"},
      {R"({"timeout": true})",
       "field 'timeout': expected a number of seconds or a string like \"30s\""},
      {R"({"timeout": -1})",
       "field 'timeout': expected a number of seconds or a string like \"30s\""},
      {R"({"limits": []})", "field 'limits': expected an object"},
      {R"({"limits": {"pids": 1.5}})",
       "field 'limits.pids': expected an integer from 1 to 4294967295"},
      {R"({"limits": {"memory": "lots"}})",
       "field 'limits.memory': expected a number of bytes or a string like \"512M\""},
      {R"({"on_timeout": "explode"})", "field 'on_timeout': expected one of 'kill', 'pause'"},
      {R"({"env": {"A=B": "x"}})", "field 'env': 'A=B' is not a valid environment variable name"},
      {R"({"metadata": {"a": 1}})", "field 'metadata': the value of 'a' must be a string"},
      {R"({"network": {"allow": "x"}})",
       "field 'network.allow': expected a list of at most 1000 strings"},
      {"[]", "the body is not a JSON object"},
      {"{", "read the body: invalid JSON at byte 2"},
      {"{\"a\": \"\xff\"}", "read the body: invalid JSON at byte 8"},
      {R"({"timeout": 1, "timeout": 2})", "read the body: duplicate name 'timeout'"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(complaint(read_sandbox_request, text), expected) << text;
  }
}

TEST(FieldsTest, NestingIsBounded) {
  std::string deep = R"({"metadata": )";
  deep.append(100'000, '[');
  EXPECT_EQ(complaint(read_sandbox_request, deep), "read the body: the JSON is nested too deeply");
  // Brackets within a text do not nest.
  EXPECT_EQ(complaint(read_execute_request, R"({"code": ")" + std::string(100, '[') + "\"}"), "");
}

TEST(FieldsTest, WhatIsRightIsTaken) {
  auto fields = Fields::parse(
      R"({"timeout": "2m", "on_timeout": "pause", "limits": {"memory": "512M", "time": 1.5},
          "env": {"A": "b"}, "network": {"allow": ["pypi.org:443"]}, "tier": "native"})");
  ASSERT_TRUE(fields);
  const auto request = read_sandbox_request(*fields);
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->timeout, std::chrono::minutes(2));
  EXPECT_EQ(request->on_timeout, OnTimeout::kPause);
  EXPECT_EQ(request->limits.memory, 512_MiB);
  EXPECT_EQ(request->limits.wall, std::chrono::milliseconds(1'500));
  EXPECT_EQ(request->env, (Environment{{"A", "b"}}));
  EXPECT_EQ(to_json(request->network), R"({"allow":["pypi.org:443"],"default":"deny","deny":[]})");
  EXPECT_EQ(request->tier.exactly, "native");
}

TEST(FieldsTest, SignalsGoByTheirNames) {
  for (const auto& [text, number] :
       std::vector<std::pair<std::string, int>>{{"SIGINT", 2}, {"TERM", 15}, {"SIGKILL", 9}}) {
    auto fields = Fields::parse(R"({"signal": ")" + text + "\"}");
    ASSERT_TRUE(fields);
    const auto signal = read_signal(*fields);
    ASSERT_TRUE(signal);
    EXPECT_EQ(*signal, number);
  }
  EXPECT_NE(complaint(read_signal, R"({"signal": "SIGNOTHING"})"), "");
  EXPECT_NE(complaint(read_signal, R"({"signal": 9})"), "");
}

}  // namespace
}  // namespace glovebox::rest
