// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launcher/protocol.h"

#include <string>

#include <gtest/gtest.h>

namespace glovebox::launcher {
namespace {

TEST(LauncherProtocolTest, AHelloSurvivesTheWire) {
  const Hello hello{.received_descriptor = true, .landlock_abi = 7, .boot_id = "a-b\n"};
  const auto again = Hello::decode(hello.encode());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->received_descriptor);
  EXPECT_EQ(again->landlock_abi, 7U);
  EXPECT_EQ(again->boot_id, "a-b\n");
}

TEST(LauncherProtocolTest, AnOrderSurvivesTheWire) {
  const Order order{.workspace = "/workspace",
                    .landlock_abi = 6,
                    .landlock_fs = 1ULL << 40,
                    .landlock_scoped = 3,
                    .rules = {{.path = "/tmp", .access = 1ULL << 41, .optional = true}},
                    .filter = std::string("\0\xff\1", 3),
                    .warden_arguments = {"a", ""}};
  const auto again = Order::decode(order.encode());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->encode(), order.encode());
  EXPECT_EQ(again->landlock_fs, 1ULL << 40);
  EXPECT_EQ(again->rules.at(0).access, 1ULL << 41);
  EXPECT_TRUE(again->rules.at(0).optional);
}

TEST(LauncherProtocolTest, WhatIsCutOrHasMoreIsRefused) {
  const std::string hello = Hello{.boot_id = "x"}.encode();
  for (std::size_t size = 0; size < hello.size(); ++size) {
    EXPECT_FALSE(Hello::decode(hello.substr(0, size))) << size;
  }
  EXPECT_FALSE(Hello::decode(hello + "x"));
  Order order;
  order.rules.resize(kMaxRules + 1);
  EXPECT_FALSE(Order::decode(order.encode()));
}

}  // namespace
}  // namespace glovebox::launcher
