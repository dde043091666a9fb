// SPDX-License-Identifier: Apache-2.0
#include "egress/request.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace glovebox::egress {
namespace {

std::string place_of(std::string_view text, std::uint16_t port = 0) {
  const auto place = parse_place(text, port);
  return place ? place->to_text() : "refused";
}

TEST(PlaceTest, HasOneSpelling) {
  EXPECT_EQ(place_of("Example.COM:443"), "example.com:443");
  EXPECT_EQ(place_of("example.com", 80), "example.com:80");
  EXPECT_EQ(place_of("192.0.2.1:8080"), "192.0.2.1:8080");
  EXPECT_EQ(place_of("[2001:DB8:0::1]:443"), "[2001:db8::1]:443");
  EXPECT_EQ(place_of("[2001:db8::1]", 80), "[2001:db8::1]:80");
}

TEST(PlaceTest, IsNoOtherSpellingOfAnything) {
  for (const std::string_view text : std::initializer_list<std::string_view>{
           "",
           ":443",
           "example.com",  // Without a port where one is needed.
           "example.com:",
           "example.com:0",
           "example.com:00443",
           "example.com:65536",
           "example.com:+443",
           "example.com:443:443",
           "example.com.:443",
           "user@example.com:443",
           "user:password@example.com:443",
           "example.com/:443",
           "exa mple.com:443",
           "ex%61mple.com:443",
           "2130706433:80",
           "0x7f000001:80",
           "0x7f.1:80",
           "0177.0.0.1:80",
           "127.1:80",
           "127.0.0.1.:80",
           "127.0.0.01:80",
           "[127.0.0.1]:80",
           "[::ffff:127.0.0.1]:80",
           "[::ffff:7f00:1]:80",
           "[::127.0.0.1]:80",
           "[fe80::1%25eth0]:80",
           "[fe80::1%eth0]:80",
           "[2001:db8::1:80",
           "[2001:db8::1]80",
           "[example.com]:80",
           "2001:db8::1:80",
           "::1",
           "\xef\xbd\x85xample.com:443",
           std::string_view("evil\0.example.com:443", 21),
       }) {
    EXPECT_EQ(place_of(text), "refused") << text;
  }
}

std::string meaning_of(std::string_view head) {
  const auto parsed = parse_request(head);
  if (const auto* const bad = std::get_if<http::BadRequest>(&parsed)) {
    return std::to_string(bad->status);
  }
  const auto& request = std::get<Request>(parsed);
  return (request.connect ? "tunnel to " : "ask ") + request.place.to_text();
}

TEST(RequestTest, IsATunnelOrAWholeUrl) {
  EXPECT_EQ(meaning_of("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"),
            "tunnel to a.example:443");
  EXPECT_EQ(meaning_of("CONNECT a.example:443 HTTP/1.1\r\nHost: A.example\r\n\r\n"),
            "tunnel to a.example:443");
  EXPECT_EQ(meaning_of("CONNECT a.example:443 HTTP/1.0\r\n\r\n"), "tunnel to a.example:443");
  EXPECT_EQ(meaning_of("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n"),
            "ask a.example:80");
  EXPECT_EQ(meaning_of("GET http://a.example:80/ HTTP/1.1\r\nHost: a.example\r\n\r\n"),
            "ask a.example:80");
  EXPECT_EQ(meaning_of("GET http://a.example:81/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n"),
            "ask a.example:81");
}

TEST(RequestTest, ThatCouldMeanTwoThingsIsRefused) {
  for (const std::string_view head : {
           "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
           "CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
           "CONNECT http://a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
           "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
           "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n\r\n",
           "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nContent-Length: 1\r\n\r\n",
           "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
           "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
           "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
           "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
           "GET http://a.example/ HTTP/1.1\r\n\r\n",
           "GET http://u@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
           "GET http://a.example@b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
           "GET http://a.example#@b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
           "GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
           "GET http:///x HTTP/1.1\r\nHost: \r\n\r\n",
           "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
           "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
           "GET http://127.1/ HTTP/1.1\r\nHost: 127.1\r\n\r\n",
           "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: a\r\n b\r\n\r\n",
           "GET http://a.example/ HTTP/1.1\nHost: a.example\n\n",
           "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n"
           "Transfer-Encoding: chunked\r\n\r\n",
           "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n"
           "Content-Length: 2\r\n\r\n",
       }) {
    EXPECT_EQ(meaning_of(head), "400") << head;
  }
  EXPECT_EQ(meaning_of("TRACE http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"), "405");
}

Request read(std::string_view head) {
  auto parsed = parse_request(head);
  EXPECT_TRUE(std::holds_alternative<Request>(parsed)) << head;
  return std::get<Request>(std::move(parsed));
}

TEST(OnwardHeadTest, IsWrittenAnewWithoutWhatWasForTheProxy) {
  const Request request = read(
      "POST http://A.example:80/x?y HTTP/1.1\r\nhost: a.example\r\nConnection: keep-alive, "
      "X-Hop\r\n"
      "X-Hop: 1\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\n"
      "Upgrade: h2c\r\nContent-Length: 3\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(onward_head(request, nullptr),
            "POST /x?y HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nContent-Length: 3\r\n"
            "Connection: close\r\n\r\n");
  const Upstream upstream{.host = "proxy.example", .port = 1, .credentials = "YTpi"};
  EXPECT_EQ(onward_head(request, &upstream),
            "POST http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n"
            "Content-Length: 3\r\nProxy-Authorization: Basic YTpi\r\nConnection: close\r\n\r\n");
}

TEST(OnwardHeadTest, NamesAPortThatIsNotTheUsualOne) {
  const Request request =
      read("GET http://[2001:db8::1]:8080 HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n");
  EXPECT_EQ(onward_head(request, nullptr),
            "GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\nConnection: close\r\n\r\n");
}

TEST(FramedPieceTest, IsAChunkWhereTheHeadSaysSo) {
  const Request chunked = read(
      "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(frame_piece(chunked, "0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
  EXPECT_EQ(frame_piece(chunked, ""), "0\r\n\r\n");
  const Request plain =
      read("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(frame_piece(plain, "ab"), "ab");
}

TEST(TunnelHeadTest, HasTheCredentialsOfTheOperator) {
  EXPECT_EQ(tunnel_head({.host = "a.example", .port = 443},
                        {.host = "proxy.example", .port = 1, .credentials = "YTpi"}),
            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n"
            "Proxy-Authorization: Basic YTpi\r\n\r\n");
}

}  // namespace
}  // namespace glovebox::egress
