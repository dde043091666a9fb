// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/guest_http.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace glovebox::e2b {
namespace {

// A server that has already said all that it will.
class GuestHttpTest : public ::testing::Test {
 protected:
  GuestHttp& hears(std::string_view answer) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    UniqueFd ours(ends[0]);
    UniqueFd theirs(ends[1]);
    EXPECT_EQ(::write(theirs.get(), answer.data(), answer.size()),
              static_cast<ssize_t>(answer.size()));
    guest_.emplace(std::move(ours), stop_.get());
    return *guest_;
  }

  // The body, or "error".
  static std::string body_of(GuestHttp& guest) {
    std::string body;
    std::vector<char> piece(5);
    for (;;) {
      const auto got = guest.read_body(piece);
      if (!got) {
        return "error";
      }
      if (*got == 0) {
        return body;
      }
      body.append(piece.data(), *got);
    }
  }

  UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};
  std::optional<GuestHttp> guest_;
};

TEST_F(GuestHttpTest, ReadsEachKindOfBody) {
  for (const char* answer : {"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world, and more",
                             "HTTP/1.0 200 OK\r\n\r\nhello world",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "6;x=y\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n",
                             "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhello world"}) {
    GuestHttp& guest = hears(answer);
    const auto head = guest.read_head(false);
    ASSERT_TRUE(head) << answer;
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(body_of(guest), "hello world") << answer;
  }
}

TEST_F(GuestHttpTest, KeepsWhatIsAboutTheConnectionToItself) {
  GuestHttp& guest = hears(
      "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nX-Own: 1\r\nUpgrade: x\r\n"
      "Set-Cookie: a\r\nSet-Cookie: b\r\n\r\n");
  const auto head = guest.read_head(false);

  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers,
            (http::Headers{{"X-Own", "1"}, {"Set-Cookie", "a"}, {"Set-Cookie", "b"}}));
}

TEST_F(GuestHttpTest, ABodyThatEndsTooEarlyIsAnError) {
  for (const char* answer : {"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhel",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n"}) {
    GuestHttp& guest = hears(answer);
    ASSERT_TRUE(guest.read_head(false)) << answer;
    EXPECT_EQ(body_of(guest), "error") << answer;
  }
}

TEST_F(GuestHttpTest, HostileHeadsAreRefused) {
  for (const std::string& answer :
       {std::string("nonsense\r\n\r\n"), std::string("HTTP/1.1 99 Low\r\n\r\n"),
        std::string("HTTP/1.1 101 Switching\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nX: a\x01"
                    "b\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n"}) {
    EXPECT_FALSE(hears(answer).read_head(false)) << answer.substr(0, 60);
  }
}

}  // namespace
}  // namespace glovebox::e2b
