// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/client.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "doors/transport/http.h"
#include "doors/transport/test_server.h"

namespace glovebox::http {
namespace {

using namespace std::chrono_literals;

ClientOptions to_port(std::uint16_t port) {
  ClientOptions options;
  options.server = {.kind = ServerAddress::Kind::kTcp,
                    .host = "127.0.0.1",
                    .port = std::to_string(port)};
  options.patience = 10s;
  return options;
}

// Answers one connection with a text, whatever is asked, and closes it.
class Liar {
 public:
  explicit Liar(std::string answer)
      : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listening_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      const UniqueFd peer(::accept(listening_.get(), nullptr, nullptr));
      char byte = 0;
      (void)!::read(peer.get(), &byte, 1);
      (void)!::write(peer.get(), answer_.data(), answer_.size());
    });
  }
  Liar(const Liar&) = delete;
  Liar& operator=(const Liar&) = delete;
  ~Liar() { thread_.join(); }

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  UniqueFd listening_;
  std::string answer_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(ServerAddressTest, HostsPortsAndSocketsAreRead) {
  const auto named = parse_server_address("http://example.org:8440/");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->authority(), "example.org:8440");
  const auto six = parse_server_address("https://[::1]:9000");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->kind, ServerAddress::Kind::kTls);
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->authority(), "[::1]:9000");
  EXPECT_EQ(parse_server_address("https://example.org")->port, "443");
  EXPECT_EQ(parse_server_address("unix:/run/s")->path, "/run/s");
  EXPECT_EQ(parse_server_address("unix:///run/s")->path, "/run/s");
}

TEST(ServerAddressTest, WhatCouldMeanTwoThingsIsRefused) {
  for (const char* url : {"", "example.org", "ftp://x", "http://", "http://a b", "http://a/path",
                          "http://a:port", "http://u@a", "http://a:123456", "http://[::1",
                          "http://[::1]x:1", "unix:", "http://a\r\nHost: b"}) {
    EXPECT_FALSE(parse_server_address(url)) << url;
  }
}

TEST(ClientTest, RequestsFollowEachOtherOnOneConnection) {
  const auto server = serve([](Request& request, Response& response) {
    const auto body = request.read_all(100);
    (void)response.send(200, {{"X-Key", std::string(request.header("x-api-key").value_or(""))}},
                        std::string(request.method()) + *body);
  });
  ClientOptions options = to_port(server->port());
  options.key = "the-key";
  Client client(options);
  for (int i = 0; i < 20; ++i) {
    const auto answer = client.send("POST", "/", {}, "body");
    ASSERT_TRUE(answer);
    EXPECT_EQ((*answer)->header("X-KEY").value_or(""), "the-key");
    EXPECT_EQ((*answer)->read_all(100).value(), "POSTbody");
  }
  EXPECT_EQ(server->connections(), 1);
}

TEST(ClientTest, BodiesOfAnyLengthPassBothWays) {
  const auto server = serve([](Request& request, Response& response) {
    const auto body = request.read_all(1'000'000);
    ASSERT_TRUE(body);
    ASSERT_TRUE(response.start(200, {}));
    for (std::size_t at = 0; at < body->size(); at += 10'000) {
      ASSERT_TRUE(response.write(std::string_view(*body).substr(at, 10'000)));
    }
    ASSERT_TRUE(response.finish());
  });
  Client client(to_port(server->port()));
  std::size_t left = 200'000;
  const auto answer = client.send_stream("PUT", "/", {}, [&left](std::span<char> into) {
    const std::size_t count = std::min(left, into.size());
    std::fill_n(into.begin(), count, 'x');
    left -= count;
    return Result<std::size_t>(count);
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)->status(), 200);
  EXPECT_EQ((*answer)->read_all(1'000'000).value(), std::string(200'000, 'x'));
}

TEST(ClientTest, AnEarlyRefusalEndsAnUpload) {
  const auto server =
      serve([](Request&, Response& response) { (void)response.send(403, {}, "no"); });
  Client client(to_port(server->port()));
  const auto answer = client.send_stream(
      "PUT", "/", {}, [](std::span<char> into) { return Result<std::size_t>(into.size()); });
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)->status(), 403);
}

TEST(ClientTest, WaitingEndsWithTheBody) {
  const auto server = serve([](Request&, Response& response) {
    (void)response.start(200, {});
    (void)response.write("first");
    (void)response.finish();
  });
  Client client(to_port(server->port()));
  const auto answer = client.send("GET", "/");
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)->await(-1, 10s), ClientAnswer::Ready::kBody);
  EXPECT_EQ((*answer)->read_all(100).value(), "first");
  EXPECT_EQ((*answer)->read_all(100).value(), "");
}

TEST(ClientTest, AWebSocketIsOpenedAndEnds) {
  const auto server = serve([](Request& request, Response& response) {
    if (request.target() == "/none") {
      (void)response.send(404, {}, "");
      return;
    }
    auto socket = response.upgrade("");
    ASSERT_TRUE(socket);
    for (auto message = (*socket)->read(); message && *message; message = (*socket)->read()) {
      ASSERT_TRUE((*socket)->write((*message)->binary, "echo " + (*message)->payload));
    }
  });
  Client client(to_port(server->port()));
  auto socket = client.open_websocket("/");
  ASSERT_TRUE(socket);
  ASSERT_TRUE((*socket)->write(true, "bytes"));
  const auto answer = (*socket)->read();
  ASSERT_TRUE(answer && *answer);
  EXPECT_TRUE((*answer)->binary);
  EXPECT_EQ((*answer)->payload, "echo bytes");
  (*socket)->close(1000, "");
  EXPECT_FALSE((*socket)->read().value());
  const auto none = client.open_websocket("/none");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kNotFound);
}

TEST(ClientTest, AnswersThatAreNoneAreErrors) {
  for (const char* text :
       {"", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\nno length",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    const Liar liar(text);
    Client client(to_port(liar.port()));
    EXPECT_FALSE(client.send("GET", "/")) << text;
  }
}

TEST(ClientTest, ABodyThatIsCutOffIsNoWholeOne) {
  for (const char* text : {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"}) {
    const Liar liar(text);
    Client client(to_port(liar.port()));
    const auto answer = client.send("GET", "/");
    ASSERT_TRUE(answer) << text;
    EXPECT_FALSE((*answer)->read_all(100)) << text;
  }
}

TEST(ClientTest, MoreThanWasAllowedIsNotRead) {
  const auto server =
      serve([](Request&, Response& response) { (void)response.send(200, {}, "eleven bytes"); });
  Client client(to_port(server->port()));
  const auto answer = client.send("GET", "/");
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)->read_all(11).error().code(), ErrorCode::kExhausted);
}

}  // namespace
}  // namespace glovebox::http
