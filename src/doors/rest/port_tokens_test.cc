// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/port_tokens.h"

#include <gtest/gtest.h>

#include "doors/rest/url.h"

namespace glovebox::rest {
namespace {

using namespace std::chrono_literals;

const PortTokens::Time kNow{1'800'000'000s};

TEST(PortTokensTest, ATokenOpensItsOwnPortUntilItIsOver) {
  const PortTokens tokens("secret");
  const std::string token = tokens.make("0123", "abc", 8000, kNow + 60s);
  EXPECT_EQ(tokens.key_of(token, "abc", 8000, kNow), "0123");
  EXPECT_EQ(tokens.key_of(token, "abc", 8000, kNow + 60s), "0123");
  EXPECT_FALSE(tokens.key_of(token, "abc", 8000, kNow + 61s));
  EXPECT_FALSE(tokens.key_of(token, "abc", 8001, kNow));
  EXPECT_FALSE(tokens.key_of(token, "abd", 8000, kNow));
  EXPECT_EQ(PortTokens("secret").key_of(token, "abc", 8000, kNow), "0123") << "after a restart";
  EXPECT_FALSE(PortTokens("other").key_of(token, "abc", 8000, kNow));
}

TEST(PortTokensTest, WhatWasChangedOpensNothing) {
  const PortTokens tokens("secret");
  const std::string token = tokens.make("0123", "abc", 8000, kNow + 60s);
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == '1' ? '2' : '1';
    EXPECT_FALSE(tokens.key_of(other, "abc", 8000, kNow)) << other;
    EXPECT_FALSE(tokens.key_of(token.substr(0, i), "abc", 8000, kNow)) << i;
  }
  EXPECT_FALSE(tokens.key_of(token + "0", "abc", 8000, kNow));
}

}  // namespace
}  // namespace glovebox::rest
