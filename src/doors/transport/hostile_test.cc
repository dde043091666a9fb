// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <future>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "doors/transport/http.h"
#include "doors/transport/test_client.h"
#include "doors/transport/test_server.h"

namespace glovebox::http {
namespace {

using namespace std::chrono_literals;

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
    EXPECT_TRUE(answer.body.starts_with(R"({"schema":"glovebox.error/1","code":)")) << answer.body;
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
        const auto body = request.read_all(100'000);
        failed.set_value(body ? ErrorCode::kInternal : body.error().code());
      },
      options);
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nhalf"));
  EXPECT_EQ(failed.get_future().get(), ErrorCode::kUnavailable);
  EXPECT_TRUE(client.is_at_end());
}

// Clients that send the head and a part of the body, and no more.
std::vector<TestClient> slow_clients(std::uint16_t port, std::size_t count, std::size_t announced) {
  std::vector<TestClient> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(TestClient::tcp(port));
    // With keys of their own: those of one owner wait for each other.
    EXPECT_TRUE(
        clients.back().write("PUT / HTTP/1.1\r\nHost: a\r\nX-API-KEY: " + std::to_string(i) +
                             "\r\nContent-Length: " + std::to_string(announced) + "\r\n\r\nhalf"));
  }
  return clients;
}

TEST(HostileTest, SmallBodiesThatDoNotComeHoldNoHandler) {
  ServerOptions options;
  options.max_handlers = 2;
  const auto server = serve(read_all, options);
  const auto slow = slow_clients(server->port(), 16, 100);
  // One that comes in two parts, as Python's clients send it, is served among them.
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"));
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").status, 200);
  ASSERT_TRUE(client.write("bodyPUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nne"));
  EXPECT_EQ(client.read_answer().body, "body");
  ASSERT_TRUE(client.write("xt"));
  EXPECT_EQ(client.read_answer().body, "next");
}

TEST(HostileTest, ASmallBodyThatDoesNotComeInTimeIs408) {
  ServerOptions options;
  options.header_patience = 1s;
  const auto server = serve(read_all, options);
  auto slow = slow_clients(server->port(), 1, 100);
  EXPECT_EQ(slow.front().read_answer().status, 408);
  EXPECT_TRUE(slow.front().is_at_end());
}

TEST(HostileTest, LargeBodiesThatDoNotComeLeaveHandlersForOthers) {
  ServerOptions options;
  options.max_handlers = 4;
  std::atomic<int> reading{0};
  const auto server = serve(
      [&](Request& request, Response& response) {
        reading += request.method() == "PUT" ? 1 : 0;
        const auto body = request.read_all(1 << 20);
        (void)response.send(body ? 200 : 503, {}, body ? *body : body.error().message());
      },
      options);
  auto slow = slow_clients(server->port(), 8, 100'000);
  // Two may wait; the others are told at once that there is no room.
  std::vector<pollfd> answered;
  for (const TestClient& client : slow) {
    answered.push_back({.fd = client.fd(), .events = POLLIN, .revents = 0});
  }
  int refused = 0;
  while (refused < 6 && ::poll(answered.data(), answered.size(), 10'000) > 0) {
    for (std::size_t i = 0; i < answered.size(); ++i) {
      if (answered[i].revents != 0) {
        refused += slow[i].read_answer().status == 503 ? 1 : 0;
        answered[i].fd = -1;
      }
    }
  }
  EXPECT_EQ(refused, 6);
  EXPECT_EQ(reading, 8);
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").status, 200);
  EXPECT_EQ(TestClient::tcp(server->port()).request("PUT", "/", {}, "x").status, 200);
}

TEST(HostileTest, TheSlowestBodyMakesRoomForAnother) {
  ServerOptions options;
  options.max_handlers = 2;
  options.body_grace = 500ms;
  std::counting_semaphore<> handled{0};
  const auto server = serve(
      [&](Request& request, Response& response) {
        handled.release();
        read_all(request, response);
      },
      options);
  auto slow = slow_clients(server->port(), 1, 100'000);
  ASSERT_TRUE(handled.try_acquire_for(60s));
  // It has had its time before the others come, who have theirs.
  std::this_thread::sleep_for(options.body_grace + 100ms);
  for (int i = 0; i < 3; ++i) {
    TestClient client = TestClient::tcp(server->port());
    ASSERT_TRUE(client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" +
                             std::string(50'000, 'x')));
    if (i == 0) {
      // Only one may wait.
      EXPECT_TRUE(slow.front().is_at_end());
    }
    ASSERT_TRUE(client.write(std::string(50'000, 'y')));
    EXPECT_EQ(client.read_answer().body.size(), 100'000);
  }
}

TEST(HostileTest, AClientThatVanishesInItsBodyIsNoticed) {
  std::promise<ErrorCode> failed;
  const auto server = serve([&](Request& request, Response&) {
    const auto body = request.read_all(100'000);
    failed.set_value(body ? ErrorCode::kInternal : body.error().code());
  });
  {
    TestClient client = TestClient::tcp(server->port());
    ASSERT_TRUE(client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nhalf"));
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

TEST(HostileTest, LinesOfChunksThatEndWithoutCrAreInvalid) {
  const auto server = serve(read_all);
  for (const std::string_view body : {"5\nhello\n0\n\n", "5\r\nhello\r\n0\n\n", "5\n"}) {
    TestClient client = TestClient::tcp(server->port());
    ASSERT_TRUE(client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
                             std::string(body)));
    EXPECT_EQ(client.read_answer().status, 400) << body;
    EXPECT_TRUE(client.is_at_end());
  }
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
