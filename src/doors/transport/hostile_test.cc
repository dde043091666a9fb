// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "doors/transport/http.h"
#include "doors/transport/test_client.h"

namespace glovebox::http {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Server> serve(Handler handler, ServerOptions options = {}) {
  options.listen = "127.0.0.1:0";
  auto server = Server::start(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << (server ? "" : server.error().message());
  return server ? std::move(server).value() : nullptr;
}

void read_all(Request& request, Response& response) {
  const auto body = request.read_all(1 << 20);
  (void)response.send(body ? 200 : 400, {}, body ? *body : body.error().message());
}

TEST(HostileTest, GarbageIsRefusedAndTheConnectionEnds) {
  const auto server = serve(read_all);
  for (const std::string_view bytes :
       {std::string_view("\x16\x03\x01\x02\x00\x01\r\n\r\n", 10), std::string_view("GET\r\n\r\n"),
        std::string_view("GET / HTTP/9.9\r\nHost: a\r\n\r\n"),
        std::string_view("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")}) {
    TestClient client = TestClient::tcp(server->port());
    ASSERT_TRUE(client.write(bytes));
    const Answer answer = client.read_answer();
    EXPECT_GE(answer.status, 400);
    EXPECT_LT(answer.status, 600);
    EXPECT_TRUE(answer.body.starts_with("{\"code\":")) << answer.body;
    EXPECT_TRUE(client.is_at_end());
  }
}

TEST(HostileTest, ARequestBehindAnAmbiguousOneIsNotServed) {
  std::atomic<int> served{0};
  const auto server = serve([&](Request&, Response& response) {
    ++served;
    (void)response.send(200, {}, "");
  });
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(
      client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n"
                   "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(client.read_answer().status, 400);
  EXPECT_TRUE(client.is_at_end());
  EXPECT_EQ(served, 0);
}

TEST(HostileTest, HeadersBeyondTheLimitAre431) {
  const auto server = serve(read_all);
  TestClient client = TestClient::tcp(server->port());
  (void)client.write("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100'000, 'x'));
  EXPECT_EQ(client.read_answer().status, 431);
  TestClient whole = TestClient::tcp(server->port());
  EXPECT_EQ(whole.request("GET", "/", {{"X", std::string(70'000, 'x')}}).status, 431);
}

TEST(HostileTest, AHeadThatTricklesIsCutOff) {
  ServerOptions options;
  options.header_patience = 1s;
  const auto server = serve(read_all, options);
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write("GET / HTTP/1.1\r\n"));
  const auto trickle = std::async(std::launch::async, [&] {
    pollfd answered{.fd = client.fd(), .events = POLLIN, .revents = 0};
    while (::poll(&answered, 1, 50) == 0 && client.write("X: y\r\n")) {
    }
  });
  const auto start = std::chrono::steady_clock::now();
  trickle.wait();
  EXPECT_EQ(client.read_answer().status, 408);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(HostileTest, ABodyThatStopsIsGivenUp) {
  ServerOptions options;
  options.body_patience = 1s;
  std::promise<ErrorCode> failed;
  const auto server = serve(
      [&](Request& request, Response&) {
        const auto body = request.read_all(1'000);
        failed.set_value(body ? ErrorCode::kInternal : body.error().code());
      },
      options);
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf"));
  EXPECT_EQ(failed.get_future().get(), ErrorCode::kUnavailable);
  EXPECT_TRUE(client.is_at_end());
}

TEST(HostileTest, AClientThatVanishesInItsBodyIsNoticed) {
  std::promise<ErrorCode> failed;
  const auto server = serve([&](Request& request, Response&) {
    const auto body = request.read_all(1'000);
    failed.set_value(body ? ErrorCode::kInternal : body.error().code());
  });
  {
    TestClient client = TestClient::tcp(server->port());
    ASSERT_TRUE(client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf"));
  }
  EXPECT_EQ(failed.get_future().get(), ErrorCode::kUnavailable);
}

TEST(HostileTest, AClientThatVanishesWhileAHandlerWorksIsNoticed) {
  std::promise<void> started;
  std::promise<bool> noticed;
  const auto server = serve([&](Request& request, Response&) {
    pollfd gone{.fd = request.gone_fd(), .events = POLLIN, .revents = 0};
    const bool early = ::poll(&gone, 1, 0) != 0;
    started.set_value();
    noticed.set_value(!early && ::poll(&gone, 1, 10'000) == 1);
  });
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next"));
  started.get_future().wait();
  client.close();
  EXPECT_TRUE(noticed.get_future().get());
}

TEST(HostileTest, AClientThatDoesNotReadBlocksOnlyItself) {
  ServerOptions options;
  options.body_patience = 1s;
  std::promise<ErrorCode> failed;
  const auto server = serve(
      [&](Request& request, Response& response) {
        if (request.target() != "/endless") {
          (void)response.send(200, {}, "");
          return;
        }
        ASSERT_TRUE(response.start(200, {}));
        const std::string piece(1 << 20, 'x');
        while (true) {
          if (auto written = response.write(piece); !written) {
            failed.set_value(written.error().code());
            return;
          }
        }
      },
      options);
  TestClient stuck = TestClient::tcp(server->port());
  ASSERT_TRUE(stuck.write("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").status, 200);
  EXPECT_EQ(failed.get_future().get(), ErrorCode::kUnavailable);
}

TEST(HostileTest, MalformedChunksAreInvalidAndEndTheConnection) {
  const auto server = serve(read_all);
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n"));
  EXPECT_EQ(client.read_answer().status, 400);
  EXPECT_TRUE(client.is_at_end());
  TestClient endless = TestClient::tcp(server->port());
  ASSERT_TRUE(endless.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;"));
  const std::string extension(64 * 1024, 'x');
  for (int i = 0; i < 64 && endless.write(extension); ++i) {
  }
  EXPECT_EQ(endless.read_answer().status, 400);
  EXPECT_TRUE(endless.is_at_end());
}

TEST(HostileTest, AnUpgradeThatIsNoneIsRefused) {
  const auto server = serve([](Request&, Response& response) {
    if (auto socket = response.upgrade(""); !socket) {
      (void)response.send(400, {}, socket.error().message());
    }
  });
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").status, 400);
  EXPECT_EQ(TestClient::tcp(server->port())
                .request("GET", "/", {{"Connection", "upgrade"}, {"Upgrade", "websocket"}})
                .status,
            400);
}

}  // namespace
}  // namespace glovebox::http
