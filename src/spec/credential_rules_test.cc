// SPDX-License-Identifier: Apache-2.0
#include "spec/credential_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

TEST(CredentialTargetTest, IsReadInOneSpelling) {
  constexpr const char* kCases[][2] = {
      {"api.example.com", "api.example.com:443"},
      {"https://API.example.com", "api.example.com:443"},
      {"*.example.com:8443", "*.example.com:8443"},
      {"http://intranet.example", "http://intranet.example:80"},
      {"http://192.0.2.7:8080", "http://192.0.2.7:8080"},
      {"[2001:db8::1]:443", "[2001:db8::1]:443"},
  };
  for (const auto& [text, canonical] : kCases) {
    const auto target = CredentialTarget::parse(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(target->to_text(), canonical);
    EXPECT_EQ(*CredentialTarget::parse(canonical), *target);
  }
}

TEST(CredentialTargetTest, IsNoBlockNoUrlAndNoOtherSpellingOfAnAddress) {
  for (const char* text :
       {"", "10.0.0.0/8", "ftp://a.example", "http://", "a.example/path", "user@a.example",
        "0x7f.1", "a.example:0", "a.example.", "http://http://a.example", "*"}) {
    EXPECT_FALSE(CredentialTarget::parse(text)) << text;
  }
}

TEST(HeaderRuleTest, NamesThatFrameOrRouteARequestAreRefused) {
  for (const char* name : {"Host", "content-length", "Transfer-Encoding", "Connection", "Upgrade",
                           "", "X Y", "X:", "X\r\nY", "Proxy-Authorization", "TE"}) {
    EXPECT_FALSE(check_header_name(name)) << name;
  }
  EXPECT_TRUE(check_header_name("Authorization"));
  EXPECT_TRUE(check_header_name("x-api-key"));
}

TEST(HeaderRuleTest, ValuesThatBreakALineAreRefusedAndNotShown) {
  for (const char* value : {"", " secret", "secret ", "secret\r\nX: y", "sec\tret", "sec\x7fret"}) {
    const auto checked = check_header_value(value);
    ASSERT_FALSE(checked) << value;
    EXPECT_EQ(checked.error().message().find("sec"), std::string::npos);
  }
  EXPECT_FALSE(check_header_value(std::string(CredentialRules::kMaxHeaderValue + 1, 'x')));
  EXPECT_TRUE(check_header_value("Bearer \xc3\xa9"));
}

TEST(HeaderRuleTest, ValuesAreFilledInByName) {
  const SecretValues secrets = {{"A", "one"}, {"my key", "two"}};
  EXPECT_EQ(*fill_in("Bearer {A}", secrets), "Bearer one");
  EXPECT_EQ(*fill_in("{A}{my key}{{A}}", secrets), "onetwo{A}");
  EXPECT_EQ(fill_in("{B}", secrets).error().code(), ErrorCode::kNotFound);
  for (const char* wrong : {"{", "}", "{}", "{A", "{A{B}", "a}b"}) {
    EXPECT_FALSE(fill_in(wrong, secrets)) << wrong;
    EXPECT_FALSE(secrets_in(wrong)) << wrong;
  }
  // A value is not a template.
  EXPECT_EQ(*fill_in("{A}", {{"A", "{B}"}}), "{B}");
}

CredentialRules example() {
  return {.placeholders = {{.variable = "TOKEN",
                            .secret = "token",
                            .targets = {*CredentialTarget::parse("a.example"),
                                        *CredentialTarget::parse("http://b.example")}}},
          .headers = {{.target = *CredentialTarget::parse("a.example"),
                       .name = "X-Key",
                       .value = "{key} {token}"}}};
}

TEST(CredentialRulesTest, NameTheirSecretsAndPlacesOnce) {
  EXPECT_EQ(secrets_of(example()), (std::vector<std::string>{"key", "token"}));
  const auto places = places_of(example());
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].to_text(), "a.example:443");
  EXPECT_EQ(places[1].to_text(), "b.example:80");
  EXPECT_TRUE(needs_authority(example()));
}

TEST(CredentialRulesTest, PlaceholdersAreRandomAndStay) {
  CredentialRules first = example();
  CredentialRules second = example();
  ASSERT_TRUE(choose_placeholders(first));
  ASSERT_TRUE(choose_placeholders(second));
  EXPECT_TRUE(is_placeholder(first.placeholders[0].placeholder));
  EXPECT_NE(first, second);
  CredentialRules again = example();
  ASSERT_TRUE(choose_placeholders(again, first));
  EXPECT_EQ(again, first);
}

TEST(CredentialRulesTest, ThoseOfASecretThatIsGoneAreLeftOut) {
  CredentialRules rules = example();
  keep_rules_with({{"token", "x"}}, rules);
  EXPECT_EQ(rules.placeholders.size(), 1U);
  EXPECT_TRUE(rules.headers.empty());
}

}  // namespace
}  // namespace glovebox
