// SPDX-License-Identifier: Apache-2.0
#include "doors/ports/guest_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doors/transport/head.h"

namespace glovebox::ports {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kKey = "e2b_" + std::string(64, 'a');

class FakeRequest final : public http::Request {
 public:
  explicit FakeRequest(http::Headers headers) : headers_(std::move(headers)) {}
  [[nodiscard]] std::string_view method() const override { return "GET"; }
  [[nodiscard]] std::string_view target() const override { return "/"; }
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const override {
    return http::find_header(headers_, name);
  }
  [[nodiscard]] const http::Headers& headers() const override { return headers_; }
  [[nodiscard]] bool over_unix_socket() const override { return false; }
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return {}; }
  Result<std::size_t> read(std::span<char>) override { return std::size_t{0}; }
  [[nodiscard]] int gone_fd() override { return -1; }

 private:
  http::Headers headers_;
};

std::string head_of(http::Headers headers, const std::optional<std::string>& host = {}) {
  return guest_head(FakeRequest(std::move(headers)), "/a?b=c", host);
}

TEST(GuestHeadTest, AKeyOfOursReachesNoGuestWhereverItStands) {
  for (const char* name :
       {"X-API-KEY", "Authorization", "authorization", "X-Forwarded-Key", "Referer", "Cookie"}) {
    for (const std::string& value : {kKey, "Bearer " + kKey, "k=" + kKey + "; other=1"}) {
      EXPECT_THAT(head_of({{name, value}, {"X-Mine", "kept"}}), Not(HasSubstr("e2b_")))
          << name << ": " << value;
    }
  }
  EXPECT_THAT(head_of({{"X-API-KEY", kKey}, {"Authorization", "Bearer " + kKey}}),
              Not(HasSubstr("aaaa")));
}

TEST(GuestHeadTest, WhatIsNearlyAKeyIsTheGuestsOwn) {
  EXPECT_FALSE(holds_key("e2b_" + std::string(63, 'a')));
  EXPECT_FALSE(holds_key("e2b_" + std::string(63, 'a') + "g"));
  EXPECT_TRUE(holds_key("e2b_e2b_" + std::string(64, '0')));
  EXPECT_THAT(head_of({{"Authorization", "Basic dXNlcjpwYXNz"}}),
              HasSubstr("Authorization: Basic dXNlcjpwYXNz\r\n"));
}

TEST(GuestHeadTest, TokensOfBothDoorsAreTakenOut) {
  for (const char* name : {"X-Port-Token", "X-Access-Token", "E2B-Traffic-Access-Token",
                           "e2b-sandbox-id", "E2b-Sandbox-Port"}) {
    EXPECT_THAT(head_of({{name, "secret"}}), Not(HasSubstr("secret"))) << name;
  }
}

TEST(GuestHeadTest, OurCookieIsTakenOutFromAmongTheOthers) {
  EXPECT_THAT(head_of({{"Cookie", "a=1; glovebox_port=secret;b=2; __Host-glovebox_port=secret"}}),
              HasSubstr("Cookie: a=1; b=2\r\n"));
  EXPECT_THAT(head_of({{"Cookie", "glovebox_port=secret"}}), Not(HasSubstr("Cookie")));
  EXPECT_THAT(head_of({{"Cookie", "glovebox_porter=mine"}}), HasSubstr("glovebox_porter=mine"));
}

TEST(GuestHeadTest, HeadersOfTheConnectionStayHereAlsoThoseThatItNames) {
  const std::string head = head_of({{"Connection", "close, X-Hop"},
                                    {"X-Hop", "here"},
                                    {"Trailer", "X-Later"},
                                    {"TE", "trailers"},
                                    {"Keep-Alive", "5"},
                                    {"Proxy-Authorization", "Basic eA=="},
                                    {"Content-Length", "5"}});
  EXPECT_EQ(head, "GET /a?b=c HTTP/1.1\r\nContent-Length: 5\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head_of({{"Connection", "Content-Length"}, {"Content-Length", "5"}}),
              HasSubstr("Content-Length: 5\r\n"));
}

TEST(GuestHeadTest, AnUpgradeIsPassedOnWhereTheConnectionAsksForIt) {
  EXPECT_THAT(head_of({{"Upgrade", "websocket"}}), Not(HasSubstr("Upgrade")));
  EXPECT_THAT(head_of({{"Upgrade", "websocket"}, {"Connection", "keep-alive, Upgrade"}}),
              HasSubstr("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
}

TEST(GuestHeadTest, AnotherHostReplacesTheClients) {
  const std::string head = head_of({{"Host", "8000-id.example.com"}}, "localhost");
  EXPECT_THAT(head, HasSubstr("Host: localhost\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("example.com")));
}

}  // namespace
}  // namespace glovebox::ports
