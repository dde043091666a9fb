// SPDX-License-Identifier: Apache-2.0
#include "context/agent_protocol.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::agent {
namespace {

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

}  // namespace
}  // namespace glovebox::agent
