// SPDX-License-Identifier: Apache-2.0
#include "service/network/host_network.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace glovebox {
namespace {

std::string shown(const std::vector<egress::Endpoint>& servers) {
  std::string text;
  for (const egress::Endpoint& server : servers) {
    text += server.address.to_text() + "#" + std::to_string(server.port) + " ";
  }
  return text;
}

TEST(NameServersTest, AreReadFromResolvConf) {
  EXPECT_EQ(shown(parse_name_servers("# one\nnameserver 192.0.2.1\n"
                                     "search example\nnameserver\t2001:db8::1 \n"
                                     "nameserver fe80::1%eth0\nnameserver nonsense\n")),
            "192.0.2.1#53 2001:db8::1#53 ");
  EXPECT_EQ(shown(parse_name_servers("")), "");
}

TEST(UpstreamTest, IsAPlainHttpProxyWithOrWithoutAUser) {
  const auto plain = parse_upstream("http://proxy.example:3128/");
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain, (egress::Upstream{.host = "proxy.example", .port = 3128, .credentials = ""}));
  EXPECT_EQ(parse_upstream("proxy.example")->port, 80);
  EXPECT_EQ(parse_upstream("http://[2001:db8::1]:8080")->host, "2001:db8::1");
  // "me:a@b", as RFC 7617 has it.
  EXPECT_EQ(parse_upstream("http://me:a%40b@proxy.example:1")->credentials, "bWU6YUBi");
  for (const char* const url : {"https://proxy.example", "socks5://proxy.example", "http://",
                                "http://a b", "http://proxy.example:0", "http://proxy.example:x",
                                "http://%zz@proxy.example", "http://127.1:80"}) {
    const auto refused = parse_upstream(url);
    ASSERT_FALSE(refused) << url;
    EXPECT_FALSE(refused.error().hint().empty());
    EXPECT_EQ(refused.error().message().find("zz"), std::string::npos);
  }
}

TEST(NoProxyTest, CountsForTheNamesBelowToo) {
  const auto rules = parse_no_proxy("localhost, .corp.example,10.0.0.0/8,other.example:8080,*.x");
  const auto direct = [&rules](const char* name, const char* address, std::uint16_t port) {
    return concerns(rules, name, address == nullptr ? std::nullopt : IpAddress::parse(address),
                    port);
  };
  EXPECT_TRUE(direct("localhost", nullptr, 80));
  EXPECT_TRUE(direct("corp.example", nullptr, 80));
  EXPECT_TRUE(direct("a.corp.example", nullptr, 80));
  EXPECT_TRUE(direct("", "10.1.1.1", 80));
  EXPECT_TRUE(direct("other.example", nullptr, 8080));
  EXPECT_TRUE(direct("y.x", nullptr, 80));
  EXPECT_FALSE(direct("other.example", nullptr, 80));
  EXPECT_FALSE(direct("notcorp.example", nullptr, 80));
}

TEST(DescribeHostTest, TakesTheProxiesOfTheEnvironment) {
  std::map<std::string, std::string> environment = {
      {"GLOVEBOX_NAME_SERVERS", "127.0.0.1:5353,2001:db8::1"},
      {"HTTP_PROXY", "http://upper.example"},
      {"http_proxy", "http://lower.example"},
      {"HTTPS_PROXY", "http://secure.example:8080"},
      {"NO_PROXY", "a.example"}};
  const auto variable = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  };
  egress::Order order;
  ASSERT_TRUE(describe_host(order, variable));
  EXPECT_EQ(shown(order.name_servers), "127.0.0.1#5353 2001:db8::1#53 ");
  EXPECT_EQ(order.http_upstream->host, "lower.example");
  EXPECT_EQ(order.https_upstream->host, "secure.example");
  EXPECT_TRUE(concerns(order.without_upstream, "b.a.example", std::nullopt, 443));

  environment["NO_PROXY"] = "*";
  egress::Order without;
  ASSERT_TRUE(describe_host(without, variable));
  EXPECT_FALSE(without.http_upstream || without.https_upstream);

  environment["NO_PROXY"] = "";
  environment["https_proxy"] = "http://me:secret@[bad";
  const auto refused = describe_host(without, variable);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message().find("secret"), std::string::npos);

  environment["GLOVEBOX_NAME_SERVERS"] = "dns.example";
  EXPECT_FALSE(describe_host(without, variable));
}

}  // namespace
}  // namespace glovebox
