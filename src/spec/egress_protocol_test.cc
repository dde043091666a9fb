// SPDX-License-Identifier: Apache-2.0
#include "spec/egress_protocol.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::egress {
namespace {

Order example_order() {
  Order order;
  order.rules.allow = {*NetworkRule::parse("*.example:443"), *NetworkRule::parse("10.0.0.0/8")};
  order.rules.deny = {*NetworkRule::parse("bad.example")};
  order.rules.otherwise = NetworkRules::Otherwise::kAllow;
  order.rules.allow_first = true;
  order.name_servers = {{.address = *IpAddress::parse("192.0.2.53"), .port = 53}};
  order.https_upstream = Upstream{.host = "proxy.example", .port = 8080, .credentials = "YTpi"};
  order.without_upstream = {*NetworkRule::parse("*.corp.example")};
  order.public_only = true;
  order.budget = {.connections = 3, .received = 1ULL << 40, .rate = 1'024};
  order.has_credentials = true;
  order.taping = Taping::kReplay;
  order.recorded_bytes = 1ULL << 20;
  order.identity = 7;
  return order;
}

TEST(EgressOrderTest, ReadsBackAsItWas) {
  const auto read = Order::decode(example_order().encode());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, example_order());
}

TEST(EgressOrderTest, IsRefusedWhenItIsCutAnywhereOrTooLong) {
  const std::string whole = example_order().encode();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Order::decode(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(Order::decode(whole + "x"));
}

TEST(EgressOrderTest, IsRefusedWithCredentialsThatBreakALine) {
  Order order = example_order();
  order.https_upstream->credentials = "YTpi\r\nX: y";
  EXPECT_FALSE(Order::decode(order.encode()));
}

TEST(EgressCredentialsTest, ReadBackAsTheyWereAndAreRefusedWhenCut) {
  const CredentialRules rules{
      .placeholders = {{.variable = "A",
                        .secret = "a",
                        .placeholder = "placeholder_0123456789",
                        .targets = {*CredentialTarget::parse("a.example"),
                                    *CredentialTarget::parse("http://b.example")}}},
      .headers = {{.target = *CredentialTarget::parse("*.c.example"),
                   .name = "X-Key",
                   .value = "key {a}"}}};
  auto made = make_credentials(rules, {{"a", "value"}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->substitutions.size(), 2U);
  EXPECT_EQ(made->settings[0].value, "key value");
  made->authority_certificate = "certificate";
  made->authority_key = "key";
  const std::string whole = made->encode().value();
  const auto read = Credentials::decode(whole);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, *made);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Credentials::decode(whole.substr(0, size))) << size;
  }
  EXPECT_EQ(make_credentials(rules, {}).error().code(), ErrorCode::kNotFound);
  const auto broken = make_credentials(rules, {{"a", "val\r\nX: y"}});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message().find("val\r"), std::string::npos);
}

TEST(EgressConnectionTest, ReadsBackAsItWasWithLongTextsCut) {
  ConnectionRecord connection{.host = "a.example",
                              .port = 443,
                              .verdict = ConnectionRecord::Verdict::kDenied,
                              .rule = "default",
                              .address = "192.0.2.1",
                              .upstream = true,
                              .sent = 1,
                              .received = 1ULL << 40,
                              .reason = "why"};
  auto read = decode_connection(encode(connection));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, connection);
  connection.reason = std::string(100'000, 'x');
  read = decode_connection(encode(connection));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->reason, std::string(512, 'x'));
}

TEST(EgressConnectionTest, IsRefusedWithAnUnknownVerdict) {
  std::string bytes = encode({.host = "", .rule = "", .address = "", .reason = ""});
  bytes[8] = 9;  // Behind the empty host and the port.
  EXPECT_FALSE(decode_connection(bytes));
}

}  // namespace
}  // namespace glovebox::egress
