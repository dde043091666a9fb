// SPDX-License-Identifier: Apache-2.0
#include "egress/route.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace glovebox::egress {
namespace {

using Way = Route::Way;

AddressOwner nobodys(const IpAddress&) { return AddressOwner::kOther; }

Order order_with(const std::vector<std::string>& allow, const std::vector<std::string>& deny = {}) {
  Order order;
  for (const std::string& rule : allow) {
    order.rules.allow.push_back(*NetworkRule::parse(rule));
  }
  for (const std::string& rule : deny) {
    order.rules.deny.push_back(*NetworkRule::parse(rule));
  }
  return order;
}

Route route(const Order& order, const char* place, bool connect = true) {
  return choose_route(order, *parse_place(place, 80), connect, nobodys);
}

TEST(RouteTest, OfANameThatNoRuleKnowsIsNotLookedUp) {
  const Order order = order_with({"a.example:443"}, {"bad.example"});
  EXPECT_EQ(route(order, "a.example:443").way, Way::kDirect);
  EXPECT_EQ(route(order, "a.example:80").way, Way::kDenied);
  EXPECT_EQ(route(order, "b.example:443").way, Way::kDenied);
  EXPECT_EQ(route(order, "bad.example:443").rule, "deny bad.example");
  EXPECT_EQ(route(order_with({"8.0.0.0/8"}), "b.example:443").way, Way::kDirect);
}

TEST(RouteTest, OfAnAddressIsDecidedAtOnce) {
  const Order order = order_with({"8.8.8.8", "a.example"});
  EXPECT_EQ(route(order, "8.8.8.8:443").way, Way::kDirect);
  EXPECT_EQ(route(order, "8.8.4.4:443").way, Way::kDenied);
  EXPECT_EQ(route(order, "169.254.169.254:80").rule, "metadata addresses");
  EXPECT_EQ(route(order, "127.0.0.1:80").rule, "loopback addresses");
  EXPECT_EQ(route(order, "[::1]:80").rule, "loopback addresses");
  EXPECT_EQ(route(order, "[64:ff9b::7f00:1]:80").rule, "IPv4 within IPv6");
}

TEST(RouteTest, ThroughAnUpstreamIsByNameAndOnlyForWhatARuleNames) {
  Order order = order_with({"*.example", "9.9.9.9", "10.0.0.1"});
  order.https_upstream = Upstream{.host = "proxy.test", .port = 8080, .credentials = ""};
  order.without_upstream = {*NetworkRule::parse("*.near.example")};
  EXPECT_EQ(route(order, "a.example:443").way, Way::kUpstream);
  EXPECT_EQ(route(order, "a.example:443").upstream, &*order.https_upstream);
  EXPECT_EQ(route(order, "a.example:80", false).way, Way::kDirect);  // None for plain HTTP.
  EXPECT_EQ(route(order, "a.near.example:443").way, Way::kDirect);
  EXPECT_EQ(route(order, "9.9.9.9:443").way, Way::kUpstream);
  // Another machine's 10.0.0.1, there.
  EXPECT_EQ(route(order, "10.0.0.1:443").way, Way::kDirect);
  // Nobody but us could check its address.
  EXPECT_EQ(route(order, "b.test:443").way, Way::kDirect);
  EXPECT_EQ(route(order_with({"a.example"}), "b.test:443").way, Way::kDenied);
}

std::string dialed(const Order& order,
                   const char* place,
                   const std::vector<const char*>& addresses,
                   const OwnerOf& owner_of = nobodys) {
  std::vector<IpAddress> found;
  for (const char* const text : addresses) {
    IpAddress mapped;
    if (std::string_view(text) == "mapped 127.0.0.1") {
      mapped.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
      found.push_back(mapped);
      continue;
    }
    found.push_back(*IpAddress::parse(text));
  }
  const Candidates candidates = allowed_addresses(order, *parse_place(place, 80), found, owner_of);
  std::string text = candidates.rule + ":";
  for (const IpAddress& address : candidates.allowed) {
    text += " " + address.to_text();
  }
  return text;
}

TEST(CandidatesTest, AreWhatRemainsWhenEachAddressWasChecked) {
  const Order order = order_with({"a.example"}, {"7.0.0.0/8"});
  EXPECT_EQ(dialed(order, "a.example", {"2606:4700::1", "8.8.8.8"}),
            "allow a.example: 8.8.8.8 2606:4700::1");
  // A name that is bound to an address inside, alone or beside a public one.
  EXPECT_EQ(dialed(order, "a.example", {"127.0.0.1"}), "loopback addresses:");
  EXPECT_EQ(dialed(order, "a.example", {"127.0.0.1", "8.8.8.8"}), "allow a.example: 8.8.8.8");
  EXPECT_EQ(dialed(order, "a.example", {"10.0.0.1", "169.254.169.254"}), "metadata addresses:");
  EXPECT_EQ(dialed(order, "a.example", {"mapped 127.0.0.1"}), "loopback addresses:");
  EXPECT_EQ(dialed(order, "a.example", {"2002:7f00:1::"}), "IPv4 within IPv6:");
  EXPECT_EQ(dialed(order, "a.example", {"0.0.0.0"}), "unspecified addresses:");
  EXPECT_EQ(dialed(order, "a.example", {"7.1.1.1"}), "deny 7.0.0.0/8:");
}

TEST(CandidatesTest, AreNotThisMachine) {
  const OwnerOf ours = [](const IpAddress& address) {
    return address == *IpAddress::parse("8.8.8.8") ? AddressOwner::kThisHost : AddressOwner::kOther;
  };
  EXPECT_EQ(dialed(order_with({"a.example"}), "a.example", {"8.8.8.8"}, ours),
            "addresses of this machine:");
  EXPECT_EQ(dialed(order_with({"a.example", "8.8.8.8"}), "a.example", {"8.8.8.8"}, ours),
            "allow 8.8.8.8: 8.8.8.8");
}

TEST(RouteTest, OfAnOrderForPublicAddressesNoRuleLeadsToOthers) {
  Order order = order_with({"10.0.0.1", "127.0.0.0/8", "0.0.0.0/0", "a.example", "8.8.8.8"});
  order.public_only = true;
  EXPECT_EQ(route(order, "10.0.0.1:443").rule, "public addresses only");
  EXPECT_EQ(route(order, "127.0.0.1:443").way, Way::kDenied);
  EXPECT_EQ(route(order, "8.8.8.8:443").way, Way::kDirect);
  EXPECT_EQ(route(order, "a.example:443").way, Way::kDirect);

  const auto public_address = *IpAddress::parse("8.8.8.8");
  const std::vector<IpAddress> addresses = {*IpAddress::parse("10.0.0.1"), public_address,
                                            *IpAddress::parse("169.254.169.254")};
  const Place place = *parse_place("a.example:443", 80);
  EXPECT_EQ(allowed_addresses(order, place, addresses, nobodys).allowed,
            std::vector{public_address});
  // A rule for just the address of this machine, which is enough elsewhere.
  const auto ours = [](const IpAddress&) { return AddressOwner::kThisHost; };
  EXPECT_TRUE(allowed_addresses(order, place, addresses, ours).allowed.empty());
  EXPECT_EQ(choose_route(order, *parse_place("8.8.8.8:443", 80), true, ours).way, Way::kDenied);
  order.public_only = false;
  EXPECT_EQ(allowed_addresses(order, place, addresses, ours).allowed.size(), 2U);
}

TEST(RouteTest, OfAnOrderForPublicAddressesNothingGoesUpstream) {
  Order order = order_with({"a.example"});
  order.https_upstream = Upstream{.host = "proxy.test", .port = 8080, .credentials = ""};
  EXPECT_EQ(route(order, "a.example:443").way, Way::kUpstream);
  order.public_only = true;
  EXPECT_EQ(route(order, "a.example:443").way, Way::kDirect);
}

}  // namespace
}  // namespace glovebox::egress
