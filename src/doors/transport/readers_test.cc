// SPDX-License-Identifier: Apache-2.0
// Clients that read slowly, or not at all.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "doors/transport/http.h"
#include "doors/transport/test_client.h"
#include "doors/transport/test_server.h"

namespace glovebox::http {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// More than the sockets in between hold.
constexpr std::size_t kLarge = 16UL << 20;

TestClient narrow_client(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int small = 4'096;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return TestClient(std::move(fd));
}

// Lets the rest come in large pieces.
void widen(const TestClient& client) {
  const int large = 4 << 20;
  (void)::setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
}

bool happens(const std::function<bool()>& condition) {
  const auto deadline = Clock::now() + 60s;
  while (Clock::now() < deadline) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

std::string get(std::string_view target, std::string_view key = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" +
         (key.empty() ? "" : "X-API-KEY: " + std::string(key) + "\r\n") + "\r\n";
}

TEST(ReadersTest, AnswersThatNobodyReadsHoldNoHandlerAndNoFurtherRequestBegins) {
  ServerOptions options;
  options.max_handlers = 2;
  options.max_unsent_bytes = 1UL << 30;
  std::atomic<int> served{0};
  const std::string large(kLarge, 'x');
  const auto server = serve(
      [&](Request& request, Response& response) {
        const bool small = request.target() == "/small";
        served += small ? 0 : 1;
        (void)response.send(200, {}, small ? "small" : large);
      },
      options);
  std::vector<TestClient> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(narrow_client(server->port()));
    ASSERT_TRUE(silent.back().write(get("/1") + get("/2") + get("/3")));
  }
  ASSERT_TRUE(happens([&] { return served == 8; }));
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/small").body, "small");
  EXPECT_EQ(served, 8);
  // Who reads after all gets all of it, in order.
  widen(silent.front());
  for (int i = 0; i < 3; ++i) {
    const Answer answer = silent.front().read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.whole);
    EXPECT_EQ(answer.body.size(), kLarge);
  }
  EXPECT_EQ(served, 10);
}

TEST(ReadersTest, FilesThatNobodyReadsHoldNoHandler) {
  ServerOptions options;
  options.max_handlers = 2;
  const UniqueFd file(::memfd_create("large", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), kLarge), 0);
  const auto server = serve(
      [&](Request& request, Response& response) {
        if (request.target() == "/small") {
          (void)response.send(200, {}, "small");
          return;
        }
        const bool chunked = request.target() == "/chunked";
        ASSERT_TRUE(response.start(
            200, chunked ? Headers{} : Headers{{"Content-Length", std::to_string(kLarge)}}));
        ASSERT_TRUE(response.write_file(file.get(), 0, kLarge));
        ASSERT_TRUE(response.finish());
      },
      options);
  std::vector<TestClient> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(narrow_client(server->port()));
    ASSERT_TRUE(silent.back().write(get(i % 2 == 0 ? "/plain" : "/chunked") + get("/small")));
  }
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/small").body, "small");
  for (std::size_t i = 0; i < 2; ++i) {
    widen(silent[i]);
    const Answer answer = silent[i].read_answer();
    EXPECT_TRUE(answer.whole);
    EXPECT_EQ(answer.body.size(), kLarge);
    EXPECT_EQ(silent[i].read_answer().body, "small");
  }
}

TEST(ReadersTest, AReaderThatIsTooSlowOverAllIsCutOffHoweverOftenItReads) {
  ServerOptions options;
  options.reader_grace = 300ms;
  options.least_rate = 100UL << 20;
  for (const bool streamed : {false, true}) {
    const auto server = serve(
        [&](Request&, Response& response) {
          const std::string large(kLarge, 'x');
          if (!streamed) {
            (void)response.send(200, {}, large);
            return;
          }
          ASSERT_TRUE(response.start(200, {}));
          EXPECT_FALSE(response.write(large));
        },
        options);
    TestClient client = narrow_client(server->port());
    ASSERT_TRUE(client.write(get("/")));
    ASSERT_TRUE(happens([&] { return server->connections() == 1; }));
    std::string byte(1, '\0');
    // It takes a byte again and again.
    const bool ended = happens([&] {
      (void)::recv(client.fd(), byte.data(), 1, MSG_DONTWAIT);
      return server->connections() == 0;
    });
    EXPECT_TRUE(ended) << (streamed ? "streamed" : "whole");
  }
}

TEST(ReadersTest, UnreadAnswersOfOnePeerAreBounded) {
  ServerOptions options;
  options.max_unsent_bytes = 8 * kLarge;  // Of which one peer has a quarter.
  const std::string large(kLarge, 'x');
  std::atomic<int> kept{0};
  std::atomic<int> refused{0};
  const auto server = serve(
      [&](Request&, Response& response) { ++(response.send(200, {}, large) ? kept : refused); },
      options);
  std::vector<TestClient> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(narrow_client(server->port()));
    ASSERT_TRUE(silent.back().write(get("/")));
  }
  EXPECT_TRUE(happens([&] { return kept + refused == 8; }));
  // What the kernel has taken of each does not count.
  EXPECT_GE(kept, 2);
  EXPECT_LE(kept, 4);
  EXPECT_TRUE(happens([&] { return server->connections() == static_cast<std::size_t>(kept); }));
}

TEST(ReadersTest, LongCallsLeaveHandlersToShortOnesAndToOtherTenants) {
  ServerOptions options;
  options.max_handlers = 1;
  options.max_long_calls = 16;
  std::promise<void> ended;
  const std::shared_future<void> end(ended.get_future());
  std::atomic<int> running{0};
  const auto server = serve(
      [&](Request& request, Response& response) {
        const bool takes_long = request.target() == "/long";
        const auto counted = request.count_for(request.header("x-api-key").value_or(""),
                                               takes_long ? Pace::kLong : Pace::kShort);
        if (!counted) {
          EXPECT_EQ(counted.error().code(), ErrorCode::kExhausted);
          EXPECT_FALSE(counted.error().hint().empty());
          (void)response.send(429, {}, "");
          return;
        }
        if (takes_long) {
          ++running;
          end.wait();
        }
        (void)response.send(200, {}, "");
      },
      options);
  const auto call = [&](std::string_view key, std::vector<TestClient>& clients) {
    clients.push_back(TestClient::tcp(server->port()));
    EXPECT_TRUE(clients.back().write(get("/long", key)));
  };
  std::vector<TestClient> clients;
  for (int i = 0; i < 4; ++i) {
    call("a", clients);
  }
  EXPECT_TRUE(happens([&] { return running == 4; }));
  std::vector<TestClient> beyond;
  call("a", beyond);
  EXPECT_EQ(beyond.front().read_answer().status, 429);
  for (int i = 0; i < 3; ++i) {
    call("b", clients);
  }
  EXPECT_TRUE(happens([&] { return running == 7; }));
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/", {{"X-API-KEY", "a"}}).status, 200);
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").status, 200);
  ended.set_value();
  for (TestClient& client : clients) {
    EXPECT_EQ(client.read_answer().status, 200);
  }
  // The places are free again.
  clients.clear();
  for (int i = 0; i < 4; ++i) {
    call("c", clients);
    EXPECT_EQ(clients.back().read_answer().status, 200);
  }
}

}  // namespace
}  // namespace glovebox::http
