// SPDX-License-Identifier: Apache-2.0
#include "egress/credentials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/base64.h"

namespace glovebox::egress {
namespace {

constexpr const char* kPlaceholder = "placeholder_0123456789";
constexpr const char* kValue = "the-real-value";

Place site(std::string_view text) { return *parse_place(text, 443); }

class CredentialFillerTest : public ::testing::Test {
 protected:
  void substitute(std::string_view target) {
    credentials_.substitutions.push_back(
        {.target = *CredentialTarget::parse(target), .placeholder = kPlaceholder, .value = kValue});
  }
  void set(std::string_view target, std::string header, std::string value) {
    credentials_.settings.push_back({.target = *CredentialTarget::parse(target),
                                     .header = std::move(header),
                                     .value = std::move(value)});
  }
  http::Headers fill(http::Headers headers, std::string_view place, bool secure = true) {
    http::Head head;
    head.headers = std::move(headers);
    EXPECT_TRUE(CredentialFiller(credentials_).fill(head, site(place), secure));
    return head.headers;
  }

  Credentials credentials_;
};

TEST_F(CredentialFillerTest, FillsInForItsHostsOverTlsOnly) {
  substitute("a.example");
  substitute("*.b.example:8443");
  substitute("http://c.example:8080");
  substitute("192.0.2.1:443");
  struct Case {
    const char* place;
    bool secure;
    bool filled;
  };
  constexpr Case kCases[] = {
      {"a.example:443", true, true},     {"a.example:443", false, false},
      {"a.example:80", true, false},     {"x.a.example:443", true, false},
      {"xa.example:443", true, false},   {"x.b.example:8443", true, true},
      {"b.example:8443", true, false},   {"x.b.example:443", true, false},
      {"c.example:8080", false, true},   {"c.example:8080", true, false},
      {"192.0.2.1:443", true, true},     {"192.0.2.2:443", true, false},
      {"evil.example:443", true, false}, {"a.example.evil.example:443", true, false},
  };
  for (const Case& one : kCases) {
    const auto headers = fill({{"X", kPlaceholder}}, one.place, one.secure);
    EXPECT_EQ(headers[0].second, one.filled ? kValue : kPlaceholder) << one.place;
    EXPECT_EQ(CredentialFiller(credentials_).has_for(site(one.place), one.secure), one.filled);
  }
}

TEST_F(CredentialFillerTest, FillsInEveryOccurrenceAndWithinBasicAuthentication) {
  substitute("a.example");
  const std::string twice = std::string(kPlaceholder) + "," + kPlaceholder;
  const std::string basic = to_base64("user:" + std::string(kPlaceholder));
  const auto headers =
      fill({{"X", twice}, {"Authorization", "BASIC " + basic}, {"X-Other", "Basic " + basic}},
           "a.example:443");
  EXPECT_EQ(headers[0].second, std::string(kValue) + "," + kValue);
  EXPECT_EQ(headers[1].second, "Basic " + to_base64("user:" + std::string(kValue)));
  EXPECT_EQ(headers[2].second, "Basic " + basic);
}

TEST_F(CredentialFillerTest, AValueIsNotSearchedForPlaceholders) {
  substitute("a.example");
  credentials_.substitutions[0].value = "x" + std::string(kPlaceholder);
  const auto headers = fill({{"X", kPlaceholder}}, "a.example:443");
  EXPECT_EQ(headers[0].second, "x" + std::string(kPlaceholder));
}

TEST_F(CredentialFillerTest, SetsAHeaderInPlaceOfAllOfItsName) {
  set("a.example", "Authorization", "Bearer x");
  const auto headers = fill({{"authorization", "mine"},
                             {"AUTHORIZATION", "mine"},
                             {"Connection", "authorization"},
                             {"X", "y"}},
                            "a.example:443");
  EXPECT_EQ(headers, (http::Headers{{"X", "y"}, {"Authorization", "Bearer x"}}));
}

TEST_F(CredentialFillerTest, OfHeadersThatAreSetTheMostSpecificHostCounts) {
  set("*.example", "X", "broad");
  set("*.example", "Y", "broad");
  set("*.b.example", "X", "narrow");
  set("a.b.example", "X", "exact");
  EXPECT_EQ(fill({}, "a.b.example:443"), (http::Headers{{"X", "exact"}}));
  EXPECT_EQ(fill({}, "c.b.example:443"), (http::Headers{{"X", "narrow"}}));
  EXPECT_EQ(fill({}, "c.example:443"), (http::Headers{{"X", "broad"}, {"Y", "broad"}}));
}

TEST_F(CredentialFillerTest, RefusesAHeadThatGrowsTooMuch) {
  substitute("a.example");
  credentials_.substitutions[0].value = std::string(8'000, 'v');
  http::Head head;
  for (int i = 0; i < 20; ++i) {
    head.headers.emplace_back("X", kPlaceholder);
  }
  EXPECT_FALSE(CredentialFiller(credentials_).fill(head, site("a.example:443"), true));
}

TEST_F(CredentialFillerTest, HidesWholeValuesOfItsPlaceAndNothingElse) {
  substitute("a.example");
  const CredentialFiller filler(credentials_);
  std::string text = "x the-real-value the-real-valu";
  filler.hide(text, site("a.example:443"), true);
  EXPECT_EQ(text, "x ************** the-real-valu");
  text = kValue;
  filler.hide(text, site("b.example:443"), true);
  EXPECT_EQ(text, kValue);
}

}  // namespace
}  // namespace glovebox::egress
