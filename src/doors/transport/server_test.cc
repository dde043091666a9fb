// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <stdexcept>
#include <thread>

#include "doors/transport/http.h"
#include "doors/transport/test_client.h"
#include "doors/transport/test_server.h"
#include "embed/handshake.h"

namespace glovebox::http {
namespace {

using namespace std::chrono_literals;

void echo(Request& request, Response& response) {
  auto body = request.read_all(1 << 20);
  ASSERT_TRUE(body);
  (void)response.send(200, {{"X-Method", std::string(request.method())}},
                      std::string(request.target()) + "|" + *body);
}

TEST(ServerTest, AConnectionServesOneRequestAfterTheOther) {
  const auto server = serve(echo);
  TestClient client = TestClient::tcp(server->port());
  for (int i = 0; i < 100; ++i) {
    const Answer answer = client.request("POST", "/" + std::to_string(i), {}, "body");
    ASSERT_EQ(answer.body, "/" + std::to_string(i) + "|body");
  }
  EXPECT_EQ(server->connections(), 1);
}

std::array<UniqueFd, 2> pair_of(int type) {
  std::array<int, 2> made{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, made.data()), 0);
  return {UniqueFd(made[0]), UniqueFd(made[1])};
}

TEST(ServerTest, ConnectionsMayBePassedToIt) {
  auto [ours, theirs] = pair_of(SOCK_SEQPACKET);
  ServerOptions options;
  options.listen.clear();
  options.passing = theirs.release();
  const auto server = Server::start(std::move(options), [](Request& request, Response& response) {
    (void)response.send(200, {}, request.over_unix_socket() ? "nobody else's" : "");
  });
  ASSERT_TRUE(server) << server.error().message();
  // What is not a connection is dropped, and those after it are still accepted.
  const UniqueFd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto [packets, other] = pair_of(SOCK_DGRAM);
  for (const int none : {-1, file.get(), packets.get()}) {
    ASSERT_TRUE(embed::send_packet(ours.get(), "c", none));
  }
  for (int i = 0; i < 3; ++i) {
    auto [near, far] = pair_of(SOCK_STREAM);
    ASSERT_TRUE(embed::send_packet(ours.get(), "c", far.get()));
    far.reset();
    const std::string request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    ASSERT_EQ(::write(near.get(), request.data(), request.size()),
              static_cast<ssize_t>(request.size()));
    std::string said;
    std::array<char, 4096> piece{};
    for (ssize_t size = 0; (size = ::read(near.get(), piece.data(), piece.size())) > 0;) {
      said.append(piece.data(), static_cast<std::size_t>(size));
    }
    EXPECT_TRUE(said.ends_with("nobody else's")) << said;
  }
}

TEST(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  const auto server = serve(echo);
  TestClient client = TestClient::tcp(server->port());
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
  }
  ASSERT_TRUE(client.write(all));
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(client.read_answer().body, "/" + std::to_string(i) + "|hi");
  }
}

TEST(ServerTest, ConnectionCloseAndHttp10EndTheConnection) {
  const auto server = serve(echo);
  TestClient closing = TestClient::tcp(server->port());
  const Answer answer = closing.request("GET", "/", {{"Connection", "close"}});
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_TRUE(closing.is_at_end());
  TestClient old = TestClient::tcp(server->port());
  ASSERT_TRUE(old.write("GET /old HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(old.read_answer().body, "/old|");
  EXPECT_TRUE(old.is_at_end());
}

TEST(ServerTest, AStreamToHttp10EndsWithTheConnection) {
  const auto server = serve([](Request&, Response& response) {
    ASSERT_TRUE(response.start(200, {}));
    ASSERT_TRUE(response.write("one "));
    ASSERT_TRUE(response.write("two"));
    ASSERT_TRUE(response.finish());
  });
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  const Answer answer = client.read_answer();
  EXPECT_EQ(answer.body, "one two");
  EXPECT_EQ(answer.header("Connection"), "close");
}

TEST(ServerTest, HeadHasTheLengthButNotTheBody) {
  const auto server = serve(echo);
  TestClient client = TestClient::tcp(server->port());
  const Answer answer = client.request("HEAD", "/12345");
  EXPECT_EQ(answer.header("Content-Length"), "7");
  EXPECT_EQ(client.request("GET", "/next").body, "/next|");
}

TEST(ServerTest, AClientThatExpectsToBeToldIsTold) {
  const auto server = serve(echo);
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write(
      "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read_answer().status, 100);
  ASSERT_TRUE(client.write("data"));
  EXPECT_EQ(client.read_answer().body, "/x|data");
}

TEST(ServerTest, ARefusalSparesTheClientItsBody) {
  const auto server =
      serve([](Request&, Response& response) { (void)response.send(403, {}, "no"); });
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.write(
      "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  const Answer answer = client.read_answer();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_TRUE(client.is_at_end());
}

TEST(ServerTest, ASmallBodyThatNobodyReadDoesNotSpoilTheNextRequest) {
  const auto server =
      serve([](Request&, Response& response) { (void)response.send(404, {}, "no"); });
  TestClient client = TestClient::tcp(server->port());
  EXPECT_EQ(client.request("POST", "/", {}, std::string(10'000, 'x')).status, 404);
  EXPECT_EQ(client.request("POST", "/", {}, "again").status, 404);
}

TEST(ServerTest, AHandlerThatThrowsOrForgetsIsA500) {
  const auto server = serve([](Request& request, Response&) {
    if (request.target() == "/throw") {
      throw std::runtime_error("bug");
    }
  });
  TestClient client = TestClient::tcp(server->port());
  EXPECT_EQ(client.request("GET", "/throw").status, 500);
  EXPECT_EQ(client.request("GET", "/forget").status, 500);
}

TEST(ServerTest, AnAnswerThatBreaksOffCanBeToldFromAWholeOne) {
  const auto server = serve([](Request&, Response& response) {
    ASSERT_TRUE(response.start(200, {}));
    ASSERT_TRUE(response.write("part"));
    response.abort();
  });
  TestClient client = TestClient::tcp(server->port());
  const Answer answer = client.request("GET", "/");
  EXPECT_EQ(answer.body, "part");
  EXPECT_FALSE(answer.whole);
}

TEST(ServerTest, HeadersCannotBeSplitByTheirValues) {
  const auto server = serve([](Request&, Response& response) {
    (void)response.send(200, {{"X-A", "1\r\nX-B: 2"}}, "");
  });
  TestClient client = TestClient::tcp(server->port());
  const Answer answer = client.request("GET", "/");
  EXPECT_EQ(answer.header("X-A"), "1  X-B: 2");
  EXPECT_EQ(answer.header("X-B"), "");
}

TEST(ServerTest, TheUnixSocketIsForItsOwnerAlone) {
  const std::string path = testing::TempDir() + "gb-server-" + std::to_string(::getpid()) + ".sock";
  ServerOptions options;
  options.unix_path = path;
  {
    const auto server = serve(
        [](Request& request, Response& response) {
          (void)response.send(200, {}, request.over_unix_socket() ? "unix" : "tcp");
        },
        options);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(TestClient::unix_socket(path).request("GET", "/").body, "unix");
    EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").body, "tcp");
    const auto second = Server::start(options, echo);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::kConflict);
  }
  struct stat status {};
  EXPECT_NE(::stat(path.c_str(), &status), 0);
}

TEST(ServerTest, DrainingEndsIdleConnectionsAndWaitsForWork) {
  std::promise<void> started;
  std::promise<void> go_on;
  const auto server = serve([&](Request&, Response& response) {
    started.set_value();
    go_on.get_future().wait();
    (void)response.send(200, {}, "done");
  });
  TestClient idle = TestClient::tcp(server->port());
  TestClient busy = TestClient::tcp(server->port());
  ASSERT_TRUE(busy.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  started.get_future().wait();
  const auto draining = std::async(std::launch::async, [&] { server->drain(10s); });
  EXPECT_TRUE(idle.is_at_end());
  EXPECT_EQ(draining.wait_for(0s), std::future_status::timeout);
  EXPECT_LT(TestClient::tcp(server->port()).fd(), 0) << "a new connection was taken";
  go_on.set_value();
  const Answer answer = busy.read_answer();
  EXPECT_EQ(answer.body, "done");
  EXPECT_EQ(answer.header("Connection"), "close");
  busy.close();
  draining.wait();
  EXPECT_EQ(server->connections(), 0);
}

TEST(ServerTest, MoreRequestsThanHandlersWaitForTheirTurn) {
  ServerOptions options;
  options.max_handlers = 2;
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  const auto server = serve(
      [&](Request&, Response& response) {
        const int count = ++now;
        int seen = most;
        while (count > seen && !most.compare_exchange_weak(seen, count)) {
        }
        std::this_thread::sleep_for(2ms);  // The work.
        --now;
        (void)response.send(200, {}, "");
      },
      options);
  std::vector<TestClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(TestClient::tcp(server->port()));
    ASSERT_TRUE(clients.back().write(
        "GET / HTTP/1.1\r\nHost: a\r\nX-API-KEY: " + std::to_string(i % 2) + "\r\n\r\n"));
  }
  for (TestClient& client : clients) {
    EXPECT_EQ(client.read_answer().status, 200);
  }
  EXPECT_EQ(most, 2);
}

TEST(ServerTest, ThreadsThatLingerHoldUpNeitherOthersNorTheEnd) {
  for (const std::size_t handlers : {2, 256}) {
    ServerOptions options;
    options.max_handlers = handlers;
    options.linger = 600s;
    const auto server = serve(echo, options);
    std::vector<TestClient> clients;
    for (int i = 0; i < 10; ++i) {
      clients.push_back(TestClient::tcp(server->port()));
      ASSERT_EQ(clients.back().request("GET", "/first").status, 200);
    }
    for (TestClient& client : clients) {
      EXPECT_EQ(client.request("GET", "/second").status, 200);
    }
  }
}

TEST(ServerTest, SlowRequestsOfWhoHasMostConnectionsMakeRoomForOthers) {
  ServerOptions options;
  options.max_connections = 4;
  options.crowded_patience = 0s;
  options.header_patience = 600s;
  const auto server = serve(echo, options);
  std::vector<TestClient> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(TestClient::tcp(server->port()));
    ASSERT_TRUE(slow.back().write("GET / HTTP/1.1\r\n"));
  }
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").status, 200);
}

TEST(ServerTest, IdleConnectionsStayWhileNobodyWaitsForTheirPlace) {
  ServerOptions options;
  options.max_connections = 2;
  options.crowded_patience = 0s;
  const auto server = serve(echo, options);
  TestClient first = TestClient::tcp(server->port());
  ASSERT_EQ(first.request("GET", "/a").status, 200);
  TestClient second = TestClient::tcp(server->port());
  ASSERT_EQ(second.request("GET", "/b").status, 200);
  EXPECT_EQ(first.request("GET", "/c").status, 200);
}

TEST(ServerTest, IdleConnectionsMakeRoomForThoseThatFindNone) {
  ServerOptions options;
  options.max_connections = 2;
  options.crowded_patience = 0s;
  const auto server = serve(echo, options);
  std::vector<TestClient> idle;
  for (int i = 0; i < 2; ++i) {
    idle.push_back(TestClient::tcp(server->port()));
    ASSERT_EQ(idle.back().request("GET", "/a").status, 200);
  }
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/b").status, 200);
}

TEST(ServerTest, WithoutDescriptorsItWaitsInsteadOfSpinning) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer that has no descriptor for its pipe takes objects for garbage";
#endif
  const auto server = serve(echo);
  TestClient first = TestClient::tcp(server->port());
  ASSERT_EQ(first.request("GET", "/a").status, 200);
  TestClient second(UniqueFd(-1));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  // The next free number is the highest one: our own socket gets it, the server's end gets none.
  UniqueFd spare(::dup(0));
  rlimit tight = limit;
  tight.rlim_cur = static_cast<rlim_t>(spare.get()) + 1;
  spare.reset();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  second = TestClient::tcp(server->port());
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  EXPECT_GE(second.fd(), 0);
  (void)second.write("GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
  // The connection that there is goes on meanwhile.
  const auto begun = std::chrono::steady_clock::now();
  int served = 0;
  while (served < 6 || std::chrono::steady_clock::now() - begun < 300ms) {
    served += first.request("GET", "/a").status == 200 ? 1 : 0;
    std::this_thread::sleep_for(10ms);
  }
  const auto took = std::chrono::steady_clock::now() - begun;
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto used_ms = [](const rusage& usage) {
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
  };
  EXPECT_LT(used_ms(after) - used_ms(before), took / 2ms);
  EXPECT_EQ(second.read_answer().body, "/b|");
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

TEST(ServerTest, AnIdleConnectionCostsFewBytes) {
  constexpr std::size_t kCount = 4'000;
  const auto server = serve(echo);
  ASSERT_EQ(TestClient::tcp(server->port()).request("GET", "/").status, 200);
  const std::size_t before = resident_bytes();
  std::vector<TestClient> clients;
  clients.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    clients.push_back(TestClient::tcp(server->port()));
    ASSERT_EQ(clients.back().request("GET", "/").status, 200);
  }
  const std::size_t each = (resident_bytes() - before) / kCount;
  RecordProperty("bytes_per_idle_connection", std::to_string(each));
  std::printf("an idle connection: %zu bytes\n", each);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(each, 8'000);
#endif
}

TEST(ServerTest, ASmallRequestIsAnsweredAtOnce) {
  const auto server = serve(echo);
  TestClient client = TestClient::tcp(server->port());
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 0; i < 5'000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(client.request("POST", "/x", {}, "1+1").status, 200);
    times.push_back(std::chrono::steady_clock::now() - start);
  }
  std::sort(times.begin(), times.end());
  std::printf("keep-alive request: p50 %.1f us, p99 %.1f us\n",
              static_cast<double>(times[2'500].count()) / 1000,
              static_cast<double>(times[4'950].count()) / 1000);
  // Nagle's algorithm or a timer on the way would cost tens of milliseconds.
  EXPECT_LT(times[2'500], 5ms);
}

}  // namespace
}  // namespace glovebox::http
