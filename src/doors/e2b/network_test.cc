// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/network.h"

#include <gtest/gtest.h>

#include "doors/e2b/byte_range.h"
#include "doors/e2b/template_name.h"
#include "doors/e2b/times.h"
#include "doors/e2b/users.h"
#include "spec/json/network_rules_json.h"

namespace glovebox::e2b {
namespace {

TEST(NetworkTest, NamesAreAllowedOnlyWhereAllElseIsDenied) {
  const Json names{{"allowOut", {"example.com", "*.example.com", "10.0.0.0/8", "::1"}}};
  Json closed = names;
  closed["denyOut"] = {"0.0.0.0/0"};

  EXPECT_FALSE(make_network(names, std::nullopt));
  EXPECT_TRUE(make_network(closed, std::nullopt));
  EXPECT_TRUE(make_network(names, false));
}

TEST(NetworkTest, OnlyBlocksOfAddressesAreDenied) {
  for (const char* wrong : {"example.com", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129"}) {
    EXPECT_FALSE(make_network({{"denyOut", {wrong}}}, std::nullopt)) << wrong;
  }
}

TEST(NetworkTest, DenyingEverythingIsADefault) {
  const auto closed = make_network({{"denyOut", {"0.0.0.0/0"}}, {"allowOut", {"a.example"}}}, {});
  const auto open = make_network({{"denyOut", {"10.0.0.0/8"}}}, std::nullopt);
  ASSERT_TRUE(closed && open);

  EXPECT_EQ(to_json(closed->rules),
            R"({"allow":["a.example"],"default":"deny","deny":[],"precedence":"allow"})");
  EXPECT_EQ(to_json(open->rules),
            R"({"allow":[],"default":"allow","deny":["10.0.0.0/8"],"precedence":"allow"})");
}

TEST(NetworkTest, WhatIsToBeToldAgainFitsIntoTheNotes) {
  Json deep = Json::object();
  for (int i = 0; i < 20; ++i) {
    deep = Json{{"x", deep}};
  }
  EXPECT_FALSE(make_network({{"rules", deep}}, std::nullopt));
  EXPECT_FALSE(make_network({{"rules", {{"x", std::string(300'000, 'x')}}}}, std::nullopt));
  EXPECT_FALSE(make_network({{"rules", {{"x", std::vector<int>(30'000)}}}}, std::nullopt));
  EXPECT_TRUE(make_network({{"rules", {{"a.example", Json::array()}}}}, std::nullopt));
}

TEST(NetworkTest, ThePasswordOfAProxyIsNeverTold) {
  const auto network = make_network(
      {{"egressProxy", {{"address", "p:1"}, {"username", "u"}, {"password", "secret"}}}}, true);
  ASSERT_TRUE(network);

  EXPECT_EQ(network->told, (Json{{"egressProxy", {{"address", "p:1"}, {"username", "u"}}}}));
}

TEST(NetworkTest, ThePasswordOfAProxyIsNotToldInTheOtherSpellingEither) {
  const auto network =
      make_network({{"egress_proxy", {{"address", "p:1"}, {"password", "secret"}}}}, true);
  ASSERT_TRUE(network);

  EXPECT_EQ(network->told, (Json{{"egress_proxy", {{"address", "p:1"}}}}));
}

TEST(NetworkTest, AnUpdateReplacesRulesAndKeepsWhatItCanNotChange) {
  const auto before = make_network({{"denyOut", {"1.2.3.4"}}, {"allowPublicTraffic", false}}, true);
  ASSERT_TRUE(before);

  const auto after =
      update_network(before->told, {{"allowOut", {"8.8.8.8"}}, {"allowPublicTraffic", true}}, {});

  ASSERT_TRUE(after);
  EXPECT_EQ(after->told, (Json{{"allowOut", {"8.8.8.8"}}, {"allowPublicTraffic", false}}));
}

TEST(NetworkTest, TransformsBecomeHeaderRules) {
  const auto network = make_network(Json::parse(R"({"rules": {"API.example": [{"transform": {
      "headers": {"Authorization": "Bearer ${e2b.secrets.my key}", "X": "{plain}"}}}]}})"),
                                    std::nullopt);
  ASSERT_TRUE(network);
  const auto& headers = network->rules.credentials.headers;
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].target.to_text(), "api.example:443");
  EXPECT_EQ(headers[0].value, "Bearer {my key}");
  EXPECT_EQ(headers[1].value, "{{plain}}");
  EXPECT_TRUE(network->rules.allow.empty());
  for (
      const char* wrong :
      {R"({"rules": {"*": []}})", R"({"rules": {"a.example": {}}})",
       R"({"rules": {"http://a.example": []}})", R"({"rules": {"a.example": [1]}})",
       R"({"rules": {"a.example": [{"transform": {"headers": {"Host": "b"}}}]}})",
       R"({"rules": {"a.example": [{"transform": {"headers": {"X": "a\r\nY: b"}}}]}})",
       R"({"rules": {"a.example": [{"transform": {"headers": {"X": "${e2b.secrets.a"}}}]}})",
       R"({"rules": {"a.example": [{"transform": {"headers": {"X": "${e2b.identity.tokens.a}"}}}]}})"}) {
    EXPECT_FALSE(make_network(Json::parse(wrong), std::nullopt)) << wrong;
  }
}

TEST(RangeTest, IsReadAsTheStandardSays) {
  const auto told = [](std::string_view header, std::uint64_t size) {
    const RangeWish wish = parse_range(header, size);
    return std::tuple(wish.kind, wish.range.first, wish.range.length);
  };
  using enum RangeKind;
  EXPECT_EQ(told("bytes=0-0", 10), std::tuple(kPart, 0U, 1U));
  EXPECT_EQ(told("bytes=5-", 10), std::tuple(kPart, 5U, 5U));
  EXPECT_EQ(told("bytes=-3", 10), std::tuple(kPart, 7U, 3U));
  EXPECT_EQ(told("bytes=-30", 10), std::tuple(kPart, 0U, 10U));
  EXPECT_EQ(told("bytes=8-99", 10), std::tuple(kPart, 8U, 2U));
  EXPECT_EQ(told("bytes=10-", 10), std::tuple(kUnsatisfiable, 0U, 0U));
  EXPECT_EQ(told("bytes=-0", 10), std::tuple(kUnsatisfiable, 0U, 0U));
  EXPECT_EQ(told("bytes=0-18446744073709551615", 10), std::tuple(kPart, 0U, 10U));
  for (const char* whole : {"", "bytes=", "bytes=-", "bytes=3-2", "bytes=0-1,3-4", "lines=0-1"}) {
    EXPECT_EQ(told(whole, 10), std::tuple(kWhole, 0U, 10U)) << whole;
  }
}

TEST(PathTest, StartsAtTheHomeAndCanNotClimbOverTheRoot) {
  EXPECT_EQ(*resolve_path(""), "/home/user");
  EXPECT_EQ(*resolve_path("~"), "/home/user");
  EXPECT_EQ(*resolve_path("~/a"), "/home/user/a");
  EXPECT_EQ(*resolve_path("a/./b/../c"), "/home/user/a/c");
  EXPECT_EQ(*resolve_path("../../../.."), "/");
  EXPECT_EQ(*resolve_path("/x//y/"), "/x/y");
  EXPECT_FALSE(resolve_path("~root/x"));
  EXPECT_FALSE(resolve_path(std::string_view("a\0b", 3)));
  EXPECT_FALSE(resolve_path(std::string(5000, 'a')));
}

TEST(TemplateNameTest, DropsNamespaceAndDefaultTag) {
  EXPECT_EQ(TemplateName::parse("team/mine:default")->ours(), "mine");
  EXPECT_EQ(TemplateName::parse("base")->ours(), "base");
  EXPECT_EQ(TemplateName::parse("team/base:V2")->ours(), "base:v2");
  for (const char* wrong : {"", "a b", ":v1", "base:", "base:a:b", "base:a b"}) {
    const auto parsed = TemplateName::parse(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalid) << wrong;
  }
}

TEST(TemplateNameTest, TagsAreLowerCaseAndOnceEach) {
  using Tags = std::vector<std::string>;
  EXPECT_EQ(*template_tags({"V1", "v1", "latest"}), (Tags{"v1", "latest"}));
  EXPECT_FALSE(template_tags({"v1", ":v2"}));
  EXPECT_FALSE(template_tags(Tags(65, "v1")));
}

TEST(TimesTest, AreWrittenAndReadInUtc) {
  const auto moment = from_rfc3339("2026-11-21T09:46:48.123456789+01:00");
  ASSERT_TRUE(moment);

  EXPECT_EQ(to_rfc3339(*moment), "2026-11-21T08:46:48.123Z");
  EXPECT_EQ(to_rfc3339_ns(1'500'000'000), "1970-01-01T00:00:01.500000000Z");
  EXPECT_EQ(to_rfc3339_ns(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(from_http_date(to_http_date(1'795'250'808)), 1'795'250'808);
  for (const char* wrong : {"", "yesterday", "2026-11-21T09:46:48", "2026-11-21T09:46:48+1x"}) {
    EXPECT_FALSE(from_rfc3339(wrong)) << wrong;
  }
}

TEST(NetworkTest, WhatNoRuleExpressesIsRefusedWhereSandboxesAreLetOut) {
  for (const char* text : {R"({"egressProxy": {"address": "proxy.example:1"}})",
                           R"({"egress_proxy": {"address": "proxy.example:1"}})"}) {
    const Json wanted = Json::parse(text);
    EXPECT_TRUE(check_supported(wanted, NetworkPolicy::kNone)) << text;
    const auto checked = check_supported(wanted, NetworkPolicy::kPublic);
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().code(), ErrorCode::kUnsupported);
  }
  EXPECT_TRUE(check_supported(Json::parse(R"({"rules": {}, "allowOut": ["8.8.8.8"]})"),
                              NetworkPolicy::kAny));
}

}  // namespace
}  // namespace glovebox::e2b
