// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "doors/transport/http.h"
#include "doors/transport/test_client.h"
#include "doors/transport/test_server.h"

namespace glovebox::http {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBig = 512UL << 20;

void say(const char* what, std::size_t bytes, Clock::duration took) {
  std::printf("%s: %.0f MB/s\n", what,
              static_cast<double>(bytes) / 1e6 / std::chrono::duration<double>(took).count());
}

std::size_t count_body(Request& request) {
  std::string piece(1 << 20, '\0');
  std::size_t total = 0;
  while (true) {
    const auto count = request.read(piece);
    if (!count || *count == 0) {
      return total;
    }
    total += *count;
  }
}

TEST(StreamsTest, AnUploadOfAnyFramingArrivesWhole) {
  const auto server = serve([](Request& request, Response& response) {
    (void)response.send(200, {}, std::to_string(count_body(request)));
  });
  const std::string piece(1 << 20, 'x');
  for (const bool chunked : {false, true}) {
    TestClient client = TestClient::tcp(server->port());
    const auto start = Clock::now();
    ASSERT_TRUE(client.write("PUT / HTTP/1.1\r\nHost: a\r\n" +
                             (chunked ? std::string("Transfer-Encoding: chunked")
                                      : "Content-Length: " + std::to_string(kBig)) +
                             "\r\n\r\n"));
    for (std::size_t sent = 0; sent < kBig; sent += piece.size()) {
      ASSERT_TRUE(!chunked || client.write("100000\r\n"));
      ASSERT_TRUE(client.write(piece));
      ASSERT_TRUE(!chunked || client.write("\r\n"));
    }
    ASSERT_TRUE(!chunked || client.write("0\r\n\r\n"));
    EXPECT_EQ(client.read_answer().body, std::to_string(kBig));
    say(chunked ? "upload, chunked" : "upload", kBig, Clock::now() - start);
  }
}

TEST(StreamsTest, ADownloadFromMemoryOrFileArrivesWhole) {
  const UniqueFd file(::memfd_create("big", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(kBig)), 0);
  const auto server = serve([&](Request& request, Response& response) {
    const bool from_file = request.target() == "/file";
    ASSERT_TRUE(response.start(
        200, from_file ? Headers{{"Content-Length", std::to_string(kBig)}} : Headers{}));
    if (from_file) {
      ASSERT_TRUE(response.write_file(file.get(), 0, kBig));
    } else {
      const std::string piece(1 << 20, 'x');
      for (std::size_t sent = 0; sent < kBig; sent += piece.size()) {
        ASSERT_TRUE(response.write(piece));
      }
    }
    ASSERT_TRUE(response.finish());
  });
  for (const char* target : {"/memory", "/file"}) {
    TestClient client = TestClient::tcp(server->port());
    ASSERT_TRUE(client.write(std::string("GET ") + target +
                             " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    const auto start = Clock::now();
    std::size_t total = 0;
    std::string into(1 << 20, '\0');
    while (true) {
      const ssize_t count = ::recv(client.fd(), into.data(), into.size(), 0);
      if (count <= 0) {
        break;
      }
      total += static_cast<std::size_t>(count);
    }
    EXPECT_GE(total, kBig);
    EXPECT_LT(total, kBig + 20'000);
    say(target, kBig, Clock::now() - start);
  }
}

TEST(StreamsTest, AFileGoesOutInPartsAndWithinChunks) {
  const UniqueFd file(::memfd_create("small", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), "0123456789", 10), 10);
  const auto server = serve([&](Request&, Response& response) {
    ASSERT_TRUE(response.start(200, {}));
    ASSERT_TRUE(response.write_file(file.get(), 2, 5));
    ASSERT_TRUE(response.write("|"));
    ASSERT_TRUE(response.write_file(file.get(), 9, 1));
    ASSERT_TRUE(response.finish());
  });
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").body, "23456|9");
}

TEST(StreamsTest, AFileThatShrinksBreaksTheAnswerOff) {
  const UniqueFd file(::memfd_create("shrunk", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), "0123456789", 10), 10);
  const auto server = serve([&](Request&, Response& response) {
    ASSERT_TRUE(response.start(200, {{"Content-Length", "20"}}));
    EXPECT_FALSE(response.write_file(file.get(), 0, 20));
  });
  EXPECT_FALSE(TestClient::tcp(server->port()).request("GET", "/").whole);
}

TEST(StreamsTest, AWebSocketCarriesTextAndBinaryBothWays) {
  const auto server = serve([](Request&, Response& response) {
    auto socket = response.upgrade("");
    ASSERT_TRUE(socket) << socket.error().message();
    while (true) {
      auto message = (*socket)->read();
      if (!message || !*message) {
        return;
      }
      ASSERT_TRUE((*socket)->write((*message)->binary, (*message)->payload));
    }
  });
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.open_websocket("/"));
  for (const std::size_t size : {0UL, 5UL, 200UL, 100'000UL, 4UL << 20U}) {
    const std::string payload(size, 'p');
    // In a thread of its own: echo and echoed do not fit the sockets together.
    auto writing = std::async(std::launch::async, [&] { return client.write_frame(2, payload); });
    const auto frame = client.read_frame();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->first, 2);
    EXPECT_TRUE(frame->second == payload) << size;
    EXPECT_TRUE(writing.get());
  }
  ASSERT_TRUE(client.write_frame(9, "are you there"));
  const auto pong = client.read_frame();
  ASSERT_TRUE(pong);
  EXPECT_EQ(*pong, std::pair(10, std::string("are you there")));
  ASSERT_TRUE(client.write_frame(1, "text"));
  EXPECT_EQ(client.read_frame(), std::optional(std::pair(1, std::string("text"))));
  ASSERT_TRUE(client.write_frame(8, "\x03\xe8"));
  const auto closed = client.read_frame();
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->first, 8);
  EXPECT_TRUE(client.is_at_end());
}

TEST(StreamsTest, AWebSocketRefusesMessagesThatAreTooLargeOrNoText) {
  const auto server = serve([](Request&, Response& response) {
    auto socket = response.upgrade("");
    ASSERT_TRUE(socket);
    EXPECT_FALSE((*socket)->read());
  });
  for (const bool large : {true, false}) {
    TestClient client = TestClient::tcp(server->port());
    ASSERT_TRUE(client.open_websocket("/"));
    (void)client.write_frame(large ? 2 : 1, large ? std::string(17UL << 20U, 'x') : "\xff\xfe");
    const auto closed = client.read_frame();
    if (closed) {
      EXPECT_EQ(closed->first, 8);
      EXPECT_EQ(closed->second.substr(0, 2), large ? "\x03\xf1" : "\x03\xef");
    }
    EXPECT_TRUE(client.is_at_end());
  }
}

TEST(StreamsTest, AWebSocketIsWrittenWhileItIsRead) {
  const auto server = serve([](Request&, Response& response) {
    auto socket = response.upgrade("");
    ASSERT_TRUE(socket);
    std::thread writer([&] {
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE((*socket)->write(false, std::to_string(i)));
      }
      (*socket)->close(1000, "done");
    });
    const auto message = (*socket)->read();
    EXPECT_TRUE(message && !*message) << "the close frame was to be the only one";
    writer.join();
  });
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(client.open_websocket("/"));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.read_frame(), std::optional(std::pair(1, std::to_string(i))));
  }
  const auto closed = client.read_frame();
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->second, std::string("\x03\xe8") + "done");
  ASSERT_TRUE(client.write_frame(8, "\x03\xe8"));
  EXPECT_TRUE(client.is_at_end());
}

// A peer of a relay: what it got up to the end of the head, and then what it says.
struct Peer {
  explicit Peer(std::string_view answer) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours = UniqueFd(ends[0]);
    theirs = std::make_unique<TestClient>(UniqueFd(ends[1]));
    EXPECT_TRUE(theirs->write(answer));
  }
  UniqueFd ours;
  std::unique_ptr<TestClient> theirs;
};

TEST(StreamsTest, ARelayTunnelsWhatBothHaveAgreedOn) {
  Peer peer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello");
  const auto server = serve([&](Request&, Response& response) {
    EXPECT_TRUE(response.relay(std::move(peer.ours), "GET /inner HTTP/1.1\r\n\r\n"));
  });
  TestClient client = TestClient::tcp(server->port());
  const Answer answer = client.request("GET", "/", {{"Connection", "Upgrade"}, {"Upgrade", "x"}});
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(client.read_exactly(5), "hello");
  EXPECT_EQ(peer.theirs->read_exactly(23), "GET /inner HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(client.write("question"));
  EXPECT_EQ(peer.theirs->read_exactly(8), "question");
  ASSERT_TRUE(peer.theirs->write("reply"));
  EXPECT_EQ(client.read_exactly(5), "reply");
  client.end_writing();
  EXPECT_TRUE(peer.theirs->is_at_end());
  peer.theirs->close();
  EXPECT_TRUE(client.is_at_end());
}

TEST(StreamsTest, ARelayNeverShowsThePeerAFurtherRequest) {
  for (const bool upgrade : {false, true}) {
    Peer peer("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok");
    const auto server = serve([&](Request&, Response& response) {
      EXPECT_TRUE(response.relay(std::move(peer.ours), "POST / HTTP/1.1\r\n\r\n"));
    });
    TestClient client = TestClient::tcp(server->port());
    ASSERT_TRUE(client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n" +
                             std::string(upgrade ? "Connection: upgrade\r\nUpgrade: x\r\n" : "") +
                             "\r\nbodyGET / HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n"));
    const Answer answer = client.read_answer();
    EXPECT_EQ(answer.body, "ok");
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_EQ(peer.theirs->read_exactly(23), "POST / HTTP/1.1\r\n\r\nbody");
    peer.theirs->end_writing();
    EXPECT_TRUE(peer.theirs->is_at_end()) << "something followed the request";
  }
}

TEST(StreamsTest, ARelayPassesChunkedBodiesOn) {
  Peer peer("HTTP/1.1 204 No Content\r\n\r\n");
  const auto server = serve([&](Request&, Response& response) {
    EXPECT_TRUE(response.relay(std::move(peer.ours), "HEAD\r\n"));
  });
  TestClient client = TestClient::tcp(server->port());
  ASSERT_TRUE(
      client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"));
  EXPECT_EQ(client.read_answer().status, 204);
  EXPECT_EQ(peer.theirs->read_exactly(21), "HEAD\r\n5\r\nabcde\r\n0\r\n\r\n");
  peer.theirs->close();
}

TEST(StreamsTest, APeerThatSpeaksNoHttpIsABadGateway) {
  Peer peer("SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n");
  const auto server = serve([&](Request&, Response& response) {
    EXPECT_TRUE(response.relay(std::move(peer.ours), "GET / HTTP/1.1\r\n\r\n"));
  });
  TestClient client = TestClient::tcp(server->port());
  const Answer answer = client.request("GET", "/");
  EXPECT_EQ(answer.status, 502);
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(answer.body.starts_with("{\"code\":502") && answer.body.ends_with("}"))
      << answer.body;
  EXPECT_TRUE(client.is_at_end());
}

TEST(StreamsTest, RelaysToSilentPeersHoldNoHandlerAndAreBoundedByOwner) {
  ServerOptions options;
  options.max_handlers = 2;
  options.max_links = 32;
  std::mutex mutex;
  std::vector<std::unique_ptr<TestClient>> peers;
  const auto server = serve(
      [&](Request& request, Response& response) {
        if (request.target() == "/short") {
          (void)response.send(200, {}, "");
          return;
        }
        (void)request.count_for(request.header("x-api-key").value_or(""), Pace::kShort);
        Peer peer("");
        const auto relayed = response.relay(std::move(peer.ours), "GET / HTTP/1.1\r\n\r\n");
        if (!relayed) {
          EXPECT_EQ(relayed.error().code(), ErrorCode::kExhausted);
          (void)response.send(429, {}, "");
        }
        const std::scoped_lock lock(mutex);
        peers.push_back(std::move(peer.theirs));
      },
      options);
  std::vector<TestClient> clients;
  for (int i = 0; i < 9; ++i) {
    clients.push_back(TestClient::tcp(server->port()));
    ASSERT_TRUE(clients.back().write("GET / HTTP/1.1\r\nHost: a\r\nX-API-KEY: a\r\n\r\n"));
  }
  // A quarter of the links for one tenant; who comes later finds some left.
  std::vector<pollfd> refused;
  for (const TestClient& client : clients) {
    refused.push_back({.fd = client.fd(), .events = POLLIN, .revents = 0});
  }
  ASSERT_EQ(::poll(refused.data(), refused.size(), 10'000), 1);
  for (std::size_t i = 0; i < refused.size(); ++i) {
    if (refused[i].revents != 0) {
      EXPECT_EQ(clients[i].read_answer().status, 429);
    }
  }
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/short").status, 200);
  TestClient other = TestClient::tcp(server->port());
  ASSERT_TRUE(other.write("GET / HTTP/1.1\r\nHost: a\r\nX-API-KEY: b\r\n\r\n"));
  pollfd silent{.fd = other.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&silent, 1, 100), 0);
}

TEST(StreamsTest, ARelayCarriesMuchInBothDirectionsAtOnce) {
  constexpr std::size_t kMuch = 8UL << 20;
  Peer peer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
  const auto server = serve([&](Request&, Response& response) {
    EXPECT_TRUE(response.relay(std::move(peer.ours), "GET / HTTP/1.1\r\n\r\n"));
  });
  TestClient client = TestClient::tcp(server->port());
  ASSERT_EQ(client.request("GET", "/", {{"Connection", "Upgrade"}, {"Upgrade", "x"}}).status, 101);
  ASSERT_EQ(peer.theirs->read_exactly(18), "GET / HTTP/1.1\r\n\r\n");
  const auto send_all = [&](TestClient& from, char letter) {
    return std::async(std::launch::async,
                      [&from, letter] { return from.write(std::string(kMuch, letter)); });
  };
  auto up = send_all(client, 'u');
  auto down = send_all(*peer.theirs, 'd');
  auto arrived = std::async(std::launch::async, [&] { return peer.theirs->read_exactly(kMuch); });
  const std::string from_peer = client.read_exactly(kMuch);
  const std::string from_client = arrived.get();
  EXPECT_TRUE(from_peer == std::string(kMuch, 'd')) << from_peer.size();
  EXPECT_TRUE(from_client == std::string(kMuch, 'u')) << from_client.size();
  // Where something was missing, nobody is to wait for it.
  (void)::shutdown(client.fd(), SHUT_RDWR);
  (void)::shutdown(peer.theirs->fd(), SHUT_RDWR);
  EXPECT_TRUE(up.get() && down.get());
}

class TlsTest : public testing::Test {
 protected:
  // A directory for each process: CTest runs the cases beside each other.
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    certificate_ = directory_ + "/certificate.pem";
    key_ = directory_ + "/key.pem";
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=localhost -keyout " +
        key_ + " -out " + certificate_ + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) {
      GTEST_SKIP() << "no openssl program";
    }
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_ = testing::TempDir() + "gb-tls-XXXXXX";
  std::string certificate_;
  std::string key_;
};

TEST_F(TlsTest, RequestsAndBodiesPass) {
  ServerOptions options;
  options.certificate_file = certificate_;
  options.key_file = key_;
  const auto server = serve(
      [](Request& request, Response& response) {
        const auto body = request.read_all(8 << 20);
        ASSERT_TRUE(body);
        (void)response.send(200, {}, *body);
      },
      options);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  const TestClient client = TestClient::tcp(server->port());
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, client.fd());
  ASSERT_EQ(SSL_connect(ssl), 1);
  EXPECT_GE(SSL_version(ssl), TLS1_2_VERSION);
  for (const std::size_t size : {10UL, 3'000'000UL}) {
    const std::string request =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
        std::string(size, 'b');
    ASSERT_EQ(SSL_write(ssl, request.data(), static_cast<int>(request.size())),
              static_cast<int>(request.size()));
    std::string answer;
    std::array<char, 16'384> piece{};
    while (answer.find(std::string(size, 'b')) == std::string::npos) {
      const int count = SSL_read(ssl, piece.data(), piece.size());
      ASSERT_GT(count, 0);
      answer.append(piece.data(), static_cast<std::size_t>(count));
    }
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  }
  SSL_free(ssl);
  SSL_CTX_free(context);
  // Who speaks plainly gets no further, and hurts nobody.
  EXPECT_EQ(TestClient::tcp(server->port()).request("GET", "/").status, 0);
}

TEST_F(TlsTest, AnswersThatNobodyReadsHoldNoHandler) {
  constexpr std::size_t kLarge = 16UL << 20;
  const UniqueFd file(::memfd_create("large", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), kLarge), 0);
  ServerOptions options;
  options.certificate_file = certificate_;
  options.key_file = key_;
  options.max_handlers = 2;
  const auto server = serve(
      [&](Request& request, Response& response) {
        if (request.target() == "/file") {
          ASSERT_TRUE(response.start(200, {{"Content-Length", std::to_string(kLarge)}}));
          ASSERT_TRUE(response.write_file(file.get(), 0, kLarge));
          ASSERT_TRUE(response.finish());
        } else {
          (void)response.send(200, {},
                              std::string(request.target() == "/large" ? kLarge : 1, '\0'));
        }
      },
      options);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  std::vector<TestClient> clients;
  std::vector<SSL*> sessions;
  const auto ask = [&](const std::string& target) {
    clients.push_back(TestClient::tcp(server->port()));
    sessions.push_back(SSL_new(context));
    SSL_set_fd(sessions.back(), clients.back().fd());
    ASSERT_EQ(SSL_connect(sessions.back()), 1);
    const std::string request = "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
    ASSERT_GT(SSL_write(sessions.back(), request.data(), static_cast<int>(request.size())), 0);
  };
  const auto bytes_of = [&](SSL* ssl, std::size_t wanted) {
    std::array<char, 16'384> piece{};
    std::size_t total = 0;
    while (total < wanted) {
      const int count = SSL_read(ssl, piece.data(), piece.size());
      if (count <= 0) {
        break;
      }
      total += static_cast<std::size_t>(count);
    }
    return total;
  };
  for (int i = 0; i < 6; ++i) {
    ask(i % 2 == 0 ? "/large" : "/file");
  }
  ask("/small");
  EXPECT_GT(bytes_of(sessions.back(), 1), 0U);
  for (int i = 0; i < 6; ++i) {
    EXPECT_GE(bytes_of(sessions[static_cast<std::size_t>(i)], kLarge), kLarge);
  }
  for (SSL* ssl : sessions) {
    SSL_free(ssl);
  }
  SSL_CTX_free(context);
}

TEST_F(TlsTest, OnlySuitesWithSecrecyAndWithoutPaddingAreTaken) {
  ServerOptions options;
  options.certificate_file = certificate_;
  options.key_file = key_;
  const auto server =
      serve([](Request&, Response& response) { (void)response.send(200, {}, ""); }, options);
  const auto connects = [&](const char* suites) {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    (void)SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    EXPECT_EQ(SSL_CTX_set_cipher_list(context, suites), 1) << suites;
    const TestClient client = TestClient::tcp(server->port());
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, client.fd());
    const bool connected = SSL_connect(ssl) == 1;
    SSL_free(ssl);
    SSL_CTX_free(context);
    return connected;
  };
  EXPECT_TRUE(connects("ECDHE-ECDSA-AES128-GCM-SHA256"));
  EXPECT_TRUE(connects("ECDHE-ECDSA-CHACHA20-POLY1305"));
  EXPECT_FALSE(connects("ECDHE-ECDSA-AES128-SHA"));
  EXPECT_FALSE(connects("ECDHE-ECDSA-AES256-SHA384"));
}

TEST_F(TlsTest, AKeyOfAnotherCertificateIsSaidAtTheStart) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.certificate_file = certificate_;
  options.key_file = certificate_;
  const auto server = Server::start(options, [](Request&, Response&) {});
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace glovebox::http
