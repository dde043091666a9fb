// SPDX-License-Identifier: Apache-2.0
// What the library says over its sockets; with an engine it is tested by tests/embed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "embed/exchange.h"
#include "embed/handshake.h"
#include "embed/quiet_start.h"

namespace glovebox::embed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

std::array<UniqueFd, 2> pair_of(int type) {
  std::array<int, 2> made{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, made.data()), 0);
  return {UniqueFd(made[0]), UniqueFd(made[1])};
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t size = 0; (size = ::read(fd, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

// An exchange with somebody who answers `response` to whatever comes, and ends.
Result<Exchange> exchange_with(const std::string& response, CallRequest request) {
  auto [ours, theirs] = pair_of(SOCK_STREAM);
  EXPECT_EQ(::write(theirs.get(), response.data(), response.size()),
            static_cast<ssize_t>(response.size()));
  EXPECT_EQ(::shutdown(theirs.get(), SHUT_WR), 0);
  return exchange(ours.get(), request);
}

CallRequest get() { return {.method = "GET", .target = "/x", .most_body = 1'000}; }

TEST(Handshake, AFailureArrivesAsItWas) {
  const auto read =
      read_outcome(outcome_packet(Error(ErrorCode::kConflict, "it is in use", "stop it first")));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(read.error().message(), "it is in use");
  EXPECT_EQ(read.error().hint(), "stop it first");
  EXPECT_TRUE(read_outcome(outcome_packet(std::nullopt)));
}

TEST(Handshake, WhatIsNoOutcomeIsAnError) {
  using namespace std::string_literals;
  for (const std::string& packet :
       {""s, "served"s, "failed"s, "failed\0-1\0a\0b"s, "failed\0009\0a\0b"s}) {
    const auto read = read_outcome(packet);
    ASSERT_FALSE(read) << packet;
    EXPECT_THAT(read.error().message(), HasSubstr("unknown form"));
  }
}

TEST(Handshake, ADescriptorGoesWithAPacket) {
  const auto [ours, theirs] = pair_of(SOCK_SEQPACKET);
  auto [near, far] = pair_of(SOCK_STREAM);
  ASSERT_TRUE(send_packet(ours.get(), "c", far.get()));
  ASSERT_TRUE(send_packet(ours.get(), "none", -1));
  far.reset();
  const auto first = receive_packet(theirs.get());
  ASSERT_TRUE(first);
  EXPECT_EQ(::fcntl(first->descriptor.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::write(first->descriptor.get(), "hello", 5), 5);
  std::array<char, 8> said{};
  EXPECT_EQ(::read(near.get(), said.data(), said.size()), 5);
  const auto second = receive_packet(theirs.get());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->text, "none");
  EXPECT_FALSE(second->descriptor);
}

TEST(Handshake, TheEndOfTheOtherSideIsUnavailable) {
  auto [ours, theirs] = pair_of(SOCK_SEQPACKET);
  theirs.reset();
  const auto packet = receive_packet(ours.get());
  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(send_packet(ours.get(), "c", -1));
}

TEST(QuietStart, NobodyHearsOfTheProgram) {
  static int heard;
  heard = 0;
  struct sigaction noted {};
  struct sigaction before {};
  noted.sa_handler = [](int) { ++heard; };
  ASSERT_EQ(::sigaction(SIGCHLD, &noted, &before), 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto started =
      start_quietly({.program = "/bin/sh",
                     .words = {"sh", "-c", "pwd; echo $ONE; trap; ls /proc/self/fd | wc -l"},
                     .environment = {"ONE=1", "PATH=/usr/bin:/bin"},
                     .descriptors = {null.get(), in.get(), null.get()}});
  in.reset();
  ASSERT_TRUE(started) << started.error().message();
  // Three, and the one with which ls reads the directory.
  EXPECT_EQ(read_all(out.get()), "/\n1\n4\n");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(heard, 0);
  (void)::sigaction(SIGCHLD, &before, nullptr);
}

TEST(QuietStart, AProgramThatIsNotThereIsAnError) {
  const auto started = start_quietly({.program = "/nonesuch", .words = {"nonesuch"}});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message(), HasSubstr("start /nonesuch: No such file"));
}

TEST(Exchange, TheRequestGoesOutAsOne) {
  auto [ours, theirs] = pair_of(SOCK_STREAM);
  const std::string response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  ASSERT_GT(::write(theirs.get(), response.data(), response.size()), 0);
  const auto made = exchange(ours.get(), {.method = "PUT",
                                          .target = "/v1/x?a=b",
                                          .headers = {"X-One: 1"},
                                          .body = "abc",
                                          .most_body = 1});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->reusable);
  ours.reset();
  EXPECT_EQ(
      read_all(theirs.get()),
      "PUT /v1/x?a=b HTTP/1.1\r\nHost: localhost\r\nX-One: 1\r\nContent-Length: 3\r\n\r\nabc");
}

TEST(Exchange, WhatWouldBeAnotherRequestIsInvalid) {
  for (const CallRequest& request : {
           CallRequest{.method = "GET /x", .target = "/"},
           CallRequest{.method = "GET", .target = "/a b"},
           CallRequest{.method = "GET", .target = "x"},
           CallRequest{.method = "GET", .target = "/\r\nX: y"},
           CallRequest{.method = "GET", .target = "/", .headers = {"X: y\r\nZ: 1"}},
           CallRequest{.method = "GET", .target = "/", .headers = {"no colon"}},
           CallRequest{.method = "GET", .target = "/", .headers = {"X Y: z"}},
       }) {
    const auto made = exchange_with("", request);
    ASSERT_FALSE(made) << request.target;
    EXPECT_EQ(made.error().code(), ErrorCode::kInvalid);
  }
}

TEST(Exchange, ABodyHasALengthOrChunksOrEndsWithTheConnection) {
  for (const std::string& framed :
       {std::string("Content-Length: 5\r\n\r\nhello"),
        std::string(
            "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: 1\r\n\r\n"),
        std::string("X-Y:  z\r\n\r\nhello")}) {
    const auto made =
        exchange_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\n" + framed, get());
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(made->response.status, 404);
    EXPECT_EQ(made->response.body, "hello");
    EXPECT_EQ(made->reusable, framed.find("X-Y") == std::string::npos);
  }
  const auto made = exchange_with("HTTP/1.1 204 No\r\nX-Y:  z\r\n\r\n", get());
  ASSERT_TRUE(made);
  EXPECT_THAT(made->response.headers, ElementsAre(Pair("x-y", "z")));
}

TEST(Exchange, AResponseThatIsCutShortOrMalformedIsAnError) {
  for (const char* const response :
       {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", "SSH-2.0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n"}) {
    EXPECT_FALSE(exchange_with(response, get())) << response;
  }
  const auto made = exchange_with("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'), get());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("too long"));
}

TEST(Exchange, ABodyIsBounded) {
  const auto made = exchange_with(
      "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + std::string(1'001, 'x'), get());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kExhausted);
}

TEST(Exchange, ASuccessComesInPiecesAndAFailureWhole) {
  std::string taken;
  CallRequest request = get();
  request.on_piece = [&](std::string_view piece) {
    taken += piece;
    return taken.size() < 4;
  };
  const auto success = exchange_with("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", request);
  ASSERT_TRUE(success);
  EXPECT_EQ(success->outcome, Outcome::kWhole);
  EXPECT_EQ(taken, "abc");
  EXPECT_EQ(success->response.body, "");
  const auto stopped = exchange_with("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ndef", request);
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->outcome, Outcome::kStopped);
  EXPECT_FALSE(stopped->reusable);
  const auto failure = exchange_with("HTTP/1.1 400 No\r\nContent-Length: 3\r\n\r\nwhy", request);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->response.body, "why");
}

TEST(Exchange, SilenceHasAnEnd) {
  auto [ours, theirs] = pair_of(SOCK_STREAM);
  CallRequest request = get();
  request.silence = std::chrono::milliseconds(1);
  const auto made = exchange(ours.get(), request);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(made.error().message(), StartsWith("the engine was silent for 1 ms"));
}

}  // namespace
}  // namespace glovebox::embed
