// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/head.h"

#include <gtest/gtest.h>

namespace glovebox::http {
namespace {

int status_of(std::string_view head) {
  const auto parsed = parse_head(head);
  const auto* bad = std::get_if<BadRequest>(&parsed);
  return bad != nullptr ? bad->status : 200;
}

Head good(std::string_view text) {
  auto parsed = parse_head(text);
  EXPECT_TRUE(std::holds_alternative<Head>(parsed)) << text;
  return std::holds_alternative<Head>(parsed) ? std::get<Head>(std::move(parsed)) : Head{};
}

TEST(HeadTest, WhatTwoReadersCouldTakeInTwoWaysIsRefused) {
  for (const std::string_view head : {
           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked"
           "\r\n\r\n",
           "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
           "GET / HTTP/1.1\nHost: a\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nX: a\r\n Content-Length: 1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n",
           "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET path HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET /#x HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX: a\x01z\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a b/../\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
           "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET http://a:81/ HTTP/1.1\r\nHost: a:80\r\n\r\n",
           "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
       }) {
    EXPECT_EQ(status_of(head), 400) << head;
  }
}

TEST(HeadTest, AnotherVersionIsRefusedAsSuch) {
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/11\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/x.1\r\nHost: a\r\n\r\n"), 400);
}

TEST(HeadTest, TheHostIsOneHoweverItIsSaid) {
  EXPECT_EQ(good("GET http://A.example:80?x HTTP/1.1\r\nHost: a.example:80\r\n\r\n").target, "/?x");
  EXPECT_EQ(good("GET / HTTP/1.1\r\nHost: [::1]:8440\r\n\r\n").target, "/");
  EXPECT_EQ(good("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").target, "*");
}

TEST(HeadTest, LimitsHaveStatusesOfTheirOwn) {
  EXPECT_EQ(status_of("GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 200; ++i) {
    many += "X" + std::to_string(i) + ": 1\r\n";
  }
  EXPECT_EQ(status_of(many + "\r\n"), 431);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n\r\n"), 417);
}

TEST(HeadTest, SaysWhatTheConnectionIsFor) {
  EXPECT_TRUE(good("GET / HTTP/1.1\r\nHost: a\r\n\r\n").keep_alive);
  EXPECT_FALSE(good("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n").keep_alive);
  EXPECT_FALSE(good("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(good("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  EXPECT_TRUE(good("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\r\n").upgrade);
  EXPECT_EQ(good("GET http://host/a?b HTTP/1.1\r\nHost: host\r\n\r\n").target, "/a?b");
  EXPECT_EQ(good("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n").content_length, 7);
  EXPECT_TRUE(good("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n").chunked);
  EXPECT_EQ(good("BREW /x HTTP/1.1\r\nHost: a\r\n\r\n").method, "BREW");
}

TEST(HeadTest, AHeadThatTricklesInIsFoundWhereItEnds) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  std::size_t searched = 0;
  for (std::size_t size = 0; size < head.size(); ++size) {
    ASSERT_FALSE(end_of_head(std::string_view(head).substr(0, size), searched)) << size;
  }
  EXPECT_EQ(end_of_head(head + "rest", searched), head.size());
}

std::string decode_all(BodyDecoder& decoder, std::string in, std::size_t piece, bool& failed) {
  std::string body;
  std::string window;
  std::string out(7, '\0');
  while (!decoder.done()) {
    auto step = decoder.decode(window, out);
    if (!step) {
      failed = true;
      return body;
    }
    body.append(out, 0, step->produced);
    window.erase(0, step->consumed);
    if (step->consumed == 0 && step->produced == 0) {
      if (in.empty()) {
        return body;
      }
      window += in.substr(0, piece);
      in.erase(0, std::min(piece, in.size()));
    }
  }
  return body;
}

TEST(BodyDecoderTest, ChunksInPiecesOfAnySizeGiveTheSameBody) {
  Head head;
  head.chunked = true;
  for (std::size_t piece = 1; piece < 60; ++piece) {
    BodyDecoder decoder(head);
    bool failed = false;
    EXPECT_EQ(
        decode_all(decoder, "5\r\nhello\r\n10;ext=1\r\n0123456789abcdef\r\n0\r\nTrailer: x\r\n\r\n",
                   piece, failed),
        "hello0123456789abcdef")
        << piece;
    EXPECT_FALSE(failed);
    EXPECT_TRUE(decoder.done());
  }
}

TEST(BodyDecoderTest, MalformedChunksFail) {
  Head head;
  head.chunked = true;
  for (const char* body : {"x\r\nhello\r\n", "5\r\nhelloworld\r\n", "-1\r\na\r\n0\r\n\r\n",
                           "fffffffffffffffff\r\na\r\n"}) {
    BodyDecoder decoder(head);
    bool failed = false;
    (void)decode_all(decoder, body, 100, failed);
    EXPECT_TRUE(failed) << body;
  }
}

TEST(BodyDecoderTest, ALengthIsNotReadBeyond) {
  Head head;
  head.content_length = 5;
  BodyDecoder decoder(head);
  std::string out(100, '\0');
  const auto step = decoder.decode("hello, next request", out);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->consumed, 5);
  EXPECT_TRUE(decoder.done());
}

}  // namespace
}  // namespace glovebox::http
