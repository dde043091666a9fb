// SPDX-License-Identifier: Apache-2.0
#include "egress/proxy.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "egress/owner.h"
#include "egress/playback.h"
#include "egress/taping.h"

namespace glovebox::egress {
namespace {

using namespace std::chrono_literals;

struct Listener {
  UniqueFd fd;
  std::uint16_t port = 0;
};

Listener listen_on_loopback() {
  Listener listener{.fd = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener.fd.get(), 16), 0);
  EXPECT_EQ(::getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  listener.port = ntohs(address.sin_port);
  return listener;
}

// For questions about names; nobody knows its port.
UniqueFd questions() { return UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

void say(const UniqueFd& fd, std::string_view text) {
  EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

// Until `most` bytes have come, or the end.
std::string hear(const UniqueFd& fd, std::size_t most = 1U << 20) {
  std::string heard;
  std::array<char, 4096> block{};
  while (heard.size() < most) {
    const ssize_t got =
        ::recv(fd.get(), block.data(), std::min(block.size(), most - heard.size()), 0);
    if (got <= 0) {
      break;
    }
    heard.append(block.data(), static_cast<std::size_t>(got));
  }
  return heard;
}

// Each question about a name gets the next list of its addresses; the last one stays.
class ScriptedResolver final : public Resolver {
 public:
  std::map<std::string, std::vector<std::vector<std::string>>> names;
  int asked = 0;

  void resolve(const std::string& name, Answer answer) override {
    ++asked;
    auto& lists = names[name];
    if (lists.empty()) {
      answer(Error(ErrorCode::kNotFound, "the name has no address"));
      return;
    }
    std::vector<IpAddress> addresses;
    for (const std::string& text : lists.front()) {
      addresses.push_back(*IpAddress::parse(text));
    }
    if (lists.size() > 1) {
      lists.erase(lists.begin());
    }
    answer(std::move(addresses));
  }
};

// A proxy in a thread of its own, and a server of the host.
class ProxyTest : public ::testing::Test {
 protected:
  void allow(const std::string& rule) { order_.rules.allow.push_back(*NetworkRule::parse(rule)); }
  void allow_server() { allow("127.0.0.1:" + std::to_string(server_.port)); }

  void start() {
    ASSERT_NE(::signal(SIGPIPE, SIG_IGN), SIG_ERR);  // As the program does.
    Listener door = listen_on_loopback();
    port_ = door.port;
    proxy_.emplace(Surroundings{.loop = loop_,
                                .order = order_,
                                .resolver = resolver_,
                                .owner_of = owner_of,
                                .tell =
                                    [this](const ConnectionRecord& connection) {
                                      const std::lock_guard lock(mutex_);
                                      told_.push_back(connection);
                                    },
                                .may_accept = [] { return true; },
                                .tape = tape_,
                                .playback = playback_,
                                .bounds = bounds_},
                   door.fd.release(), questions().release());
    proxy_->start();
    thread_ = std::thread([this] { loop_.run(); });
  }

  // What was told, once everything has ended.
  std::vector<ConnectionRecord> stop() {
    if (thread_.joinable()) {
      boost::asio::post(loop_, [this] { proxy_->stop(); });
      thread_.join();
    }
    return told_;
  }

  void TearDown() override { (void)stop(); }

  [[nodiscard]] std::string place() const { return "127.0.0.1:" + std::to_string(server_.port); }
  UniqueFd ask(const std::string& head) const {
    UniqueFd guest = connect_to(port_);
    say(guest, head);
    return guest;
  }
  UniqueFd ask_for_tunnel(const std::string& to) const {
    return ask("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n");
  }
  UniqueFd accept() const { return UniqueFd(::accept(server_.fd.get(), nullptr, nullptr)); }

  static constexpr std::string_view kOpen = "HTTP/1.1 200 Connection established\r\n\r\n";

  Order order_;
  Bounds bounds_;
  Tape* tape_ = nullptr;
  Playback* playback_ = nullptr;
  ScriptedResolver resolver_;
  Listener server_ = listen_on_loopback();
  std::uint16_t port_ = 0;

 private:
  boost::asio::io_context loop_{1};
  std::optional<Proxy> proxy_;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<ConnectionRecord> told_;
};

TEST_F(ProxyTest, CarriesATunnelBothWaysAndCounts) {
  allow_server();
  start();
  UniqueFd guest = ask_for_tunnel(place());
  ASSERT_EQ(hear(guest, kOpen.size()), kOpen);
  UniqueFd server = accept();
  say(guest, "question");
  EXPECT_EQ(hear(server, 8), "question");
  say(server, "answer");
  server.reset();
  EXPECT_EQ(hear(guest), "answer");
  guest.reset();
  const auto told = stop();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].verdict, ConnectionRecord::Verdict::kAllowed);
  EXPECT_EQ(told[0].sent, 8U);
  EXPECT_EQ(told[0].received, 6U);
  EXPECT_EQ(told[0].address, "127.0.0.1");
}

TEST_F(ProxyTest, LooksANameUpOnceAndDialsWhatItChecked) {
  allow("a.example");
  allow_server();
  // To whoever asked twice, the second answer would be another machine.
  resolver_.names["a.example"] = {{"127.0.0.1"}, {"192.0.2.1"}};
  start();
  UniqueFd guest = ask_for_tunnel("a.example:" + std::to_string(server_.port));
  EXPECT_EQ(hear(guest, kOpen.size()), kOpen);
  (void)accept();
  guest.reset();
  (void)stop();
  EXPECT_EQ(resolver_.asked, 1);
}

// The first bytes of a TLS client that asks for `host`.
std::string client_hello(const std::string& host) {
  const auto sized = [](int width, const std::string& bytes) {
    std::string text;
    for (int i = width - 1; i >= 0; --i) {
      text += static_cast<char>(bytes.size() >> (8 * i));
    }
    return text + bytes;
  };
  const std::string name = sized(2, std::string(1, '\0') + sized(2, host));
  const std::string body = std::string(34, 'r') + sized(1, "") + sized(2, "cc") + sized(1, "c") +
                           sized(2, std::string("\0\0", 2) + sized(2, name));
  return "\x16\x03\x01" + sized(2, "\x01" + sized(3, body));
}

TEST_F(ProxyTest, CarriesTlsToTheHostThatItAsksForAndToNoOther) {
  allow("a.example");
  allow_server();
  resolver_.names["a.example"] = {{"127.0.0.1"}};
  start();
  const std::string to = "a.example:" + std::to_string(server_.port);
  for (const bool same : {true, false}) {
    UniqueFd guest = ask_for_tunnel(to);
    ASSERT_EQ(hear(guest, kOpen.size()), kOpen);
    UniqueFd server = accept();
    const std::string hello = client_hello(same ? "a.example" : "b.example");
    say(guest, hello.substr(0, 1));
    say(guest, hello.substr(1));
    if (same) {
      EXPECT_EQ(hear(server, hello.size()), hello);
    } else {
      EXPECT_EQ(hear(server), "");
      EXPECT_EQ(hear(guest), std::string("\x15\x03\x03\x00\x02\x02\x70", 7));
    }
  }
  const auto told = stop();
  ASSERT_EQ(told.size(), 2U);
  const auto denied =
      std::ranges::find(told, ConnectionRecord::Verdict::kDenied, &ConnectionRecord::verdict);
  ASSERT_NE(denied, told.end());
  EXPECT_EQ(denied->reason, "TLS asks for 'b.example', not for the host of the connection");
  EXPECT_EQ(denied->sent, 0U);
}

TEST_F(ProxyTest, DialsNothingForANameBoundToAnAddressInside) {
  allow("*.example");
  resolver_.names["a.example"] = {{"127.0.0.1", "::1", "169.254.169.254"}};
  start();
  const std::string answer = hear(ask_for_tunnel("a.example:" + std::to_string(server_.port)));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
  const auto told = stop();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].verdict, ConnectionRecord::Verdict::kDenied);
  EXPECT_EQ(told[0].rule, "metadata addresses");
  // Nobody is at the door of the server.
  pollfd waiting{server_.fd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0);
}

TEST_F(ProxyTest, DoesNotLookUpWhatNoRuleCouldAllow) {
  allow("a.example");
  start();
  EXPECT_TRUE(hear(ask_for_tunnel("b.example:443")).starts_with("HTTP/1.1 403 "));
  (void)stop();
  EXPECT_EQ(resolver_.asked, 0);
}

TEST_F(ProxyTest, SendsOneRequestOfAConnection) {
  allow_server();
  start();
  const std::string head = " HTTP/1.1\r\nHost: " + place() + "\r\n\r\n";
  UniqueFd guest = ask("GET http://" + place() + "/one" + head + "GET http://" + place() + "/two" +
                       head + "GET /three" + head);
  UniqueFd server = accept();
  const std::string expected =
      "GET /one HTTP/1.1\r\nHost: " + place() + "\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(hear(server, expected.size()), expected);
  say(server, "HTTP/1.1 204 No Content\r\n\r\n");
  ASSERT_EQ(::shutdown(server.get(), SHUT_WR), 0);
  EXPECT_EQ(hear(guest), "HTTP/1.1 204 No Content\r\n\r\n");
  guest.reset();
  (void)stop();
  EXPECT_EQ(hear(server), "");
}

TEST_F(ProxyTest, EndsAGuestThatSendsNoHeadInTime) {
  bounds_.for_head = 0s;
  start();
  EXPECT_EQ(hear(ask("CONNECT ")), "");
  const auto told = stop();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].verdict, ConnectionRecord::Verdict::kFailed);
}

TEST_F(ProxyTest, EndsATunnelWhoseGuestLeavesWithoutAWord) {
  bounds_.sessions = 1;
  allow_server();
  start();
  for (int i = 0; i < 20; ++i) {
    UniqueFd guest = ask_for_tunnel(place());
    ASSERT_EQ(hear(guest, kOpen.size()), kOpen);
    const UniqueFd server = accept();
    const linger reset{.l_onoff = i % 2, .l_linger = 0};
    ASSERT_EQ(::setsockopt(guest.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    guest.reset();
    EXPECT_EQ(hear(server), "");
  }
}

TEST_F(ProxyTest, EndsATunnelThatCarriesNothing) {
  bounds_.idle = 0s;
  allow_server();
  start();
  const UniqueFd guest = ask_for_tunnel(place());
  EXPECT_EQ(hear(guest), kOpen);
}

TEST_F(ProxyTest, RefusesAHeadThatIsTooLong) {
  bounds_.head = 1024;
  start();
  const std::string answer = hear(ask("GET http://a.example/" + std::string(2'000, 'x')));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 431 ")) << answer;
}

TEST_F(ProxyTest, CarriesNoMoreBytesThanASandboxMayHave) {
  bounds_.sent = 10;
  allow_server();
  start();
  UniqueFd guest = ask_for_tunnel(place());
  ASSERT_EQ(hear(guest, kOpen.size()), kOpen);
  UniqueFd server = accept();
  say(guest, "0123456789");
  EXPECT_EQ(hear(server, 10), "0123456789");
  say(guest, "x");
  EXPECT_EQ(hear(guest), "");
}

// So many bytes that a piece in the wrong place shows.
std::string many_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

class LongFlowTest : public ProxyTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(LongFlowTest, GoesBothWaysAtOnceUnchanged) {
  bounds_.pipes = GetParam();
  allow_server();
  start();
  const UniqueFd guest = ask_for_tunnel(place());
  ASSERT_EQ(hear(guest, kOpen.size()), kOpen);
  const UniqueFd server = accept();
  const std::string bytes = many_bytes(5'000'000);
  const auto send = [&bytes](const UniqueFd& to) {
    EXPECT_TRUE(sys::write_all(to.get(), bytes));
    EXPECT_EQ(::shutdown(to.get(), SHUT_WR), 0);
  };
  std::string asked;
  std::thread asking([&] { send(guest); });
  std::thread answering([&] { send(server); });
  std::thread listening([&] { asked = hear(server, bytes.size() + 1); });
  const std::string answered = hear(guest, bytes.size() + 1);
  for (std::thread* const thread : {&asking, &answering, &listening}) {
    thread->join();
  }
  EXPECT_TRUE(asked == bytes);
  EXPECT_TRUE(answered == bytes);
  const auto told = stop();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].sent, bytes.size());
  EXPECT_EQ(told[0].received, bytes.size());
}

INSTANTIATE_TEST_SUITE_P(WithPipes, LongFlowTest, ::testing::Values(0, 1, 2));

TEST_F(ProxyTest, CarriesNoMoreOfALongFlowThanASandboxMayHave) {
  bounds_.received = 3'000'000;
  allow_server();
  start();
  const UniqueFd guest = ask_for_tunnel(place());
  ASSERT_EQ(hear(guest, kOpen.size()), kOpen);
  const UniqueFd server = accept();
  std::thread answering(
      [&] { EXPECT_FALSE(sys::write_all(server.get(), std::string(8'000'000, 'x'))); });
  EXPECT_LE(hear(guest, 8'000'000).size(), bounds_.received + 1);
  answering.join();
  const auto told = stop();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].received, bounds_.received + 1);
}

TEST_F(ProxyTest, SendsALongBodyAndNothingBehindIt) {
  allow_server();
  start();
  const std::string body = many_bytes(2'000'000);
  const std::string to = place();
  const UniqueFd guest = ask("PUT http://" + to + "/ HTTP/1.1\r\nHost: " + to +
                             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  const UniqueFd server = accept();
  std::thread asking(
      [&] { EXPECT_TRUE(sys::write_all(guest.get(), body + "GET /more HTTP/1.1\r\n\r\n")); });
  const std::string head = "PUT / HTTP/1.1\r\nHost: " + to + "\r\nContent-Length: 2000000\r\n" +
                           "Connection: close\r\n\r\n";
  const std::string heard = hear(server, head.size() + body.size());
  asking.join();
  EXPECT_TRUE(heard.ends_with(body)) << heard.substr(0, head.size());
  say(server, "HTTP/1.1 204 No Content\r\n\r\n");
  ASSERT_EQ(::shutdown(server.get(), SHUT_WR), 0);
  EXPECT_EQ(hear(guest), "HTTP/1.1 204 No Content\r\n\r\n");
  (void)stop();
  EXPECT_EQ(hear(server), "");
}

TEST_F(ProxyTest, OutlivesAReceiverThatLeavesALongFlow) {
  allow_server();
  start();
  UniqueFd guest = ask_for_tunnel(place());
  ASSERT_EQ(hear(guest, kOpen.size()), kOpen);
  const UniqueFd server = accept();
  std::thread answering(
      [&] { EXPECT_FALSE(sys::write_all(server.get(), std::string(20'000'000, 'x'))); });
  EXPECT_EQ(hear(guest, 1'000'000).size(), 1'000'000U);
  guest.reset();
  answering.join();
  UniqueFd next = ask_for_tunnel(place());
  EXPECT_EQ(hear(next, kOpen.size()), kOpen);
}

TEST_F(ProxyTest, LetsFurtherGuestsWaitWhileTheHouseIsFull) {
  bounds_.sessions = 1;
  allow_server();
  start();
  UniqueFd first = ask_for_tunnel(place());
  ASSERT_EQ(hear(first, kOpen.size()), kOpen);
  const UniqueFd second = ask_for_tunnel("192.0.2.1:1");
  std::array<char, 1> byte{};
  EXPECT_EQ(::recv(second.get(), byte.data(), 1, MSG_DONTWAIT), -1);
  first.reset();
  (void)accept();
  EXPECT_TRUE(hear(second).starts_with("HTTP/1.1 403 "));
}

TEST(OwnerTest, IsThisHostForItsOwnAddresses) {
  EXPECT_EQ(owner_of(*IpAddress::parse("127.0.0.1")), AddressOwner::kThisHost);
  EXPECT_EQ(owner_of(*IpAddress::parse("192.0.2.1")), AddressOwner::kOther);
}

// What the server says is in `recorded_` when the proxy has ended.
class RecordedProxyTest : public ProxyTest {
 protected:
  std::string get(const std::string& path) const {
    return "GET http://" + place() + path + " HTTP/1.1\r\nHost: " + place() + "\r\n\r\n";
  }
  Place server_place() const { return *parse_place(place(), 0); }
  void replay() {
    playing_.emplace(*Recording::parse(recorded_));
    playback_ = &*playing_;
  }

  std::string recorded_;
  Tape taping_{kMostRecorded, [this](std::string_view bytes) { recorded_ += bytes; }, [] {}};
  std::optional<Playback> playing_;
};

TEST_F(RecordedProxyTest, RecordsARequestWithItsAnswerAndAConnectionByTurns) {
  allow_server();
  tape_ = &taping_;
  start();
  constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  UniqueFd guest = ask(get("/a"));
  UniqueFd server = accept();
  (void)hear(server, 10);
  say(server, kAnswer);
  server.reset();
  EXPECT_EQ(hear(guest), kAnswer);
  guest = ask_for_tunnel(place());
  ASSERT_EQ(hear(guest, kOpen.size()), kOpen);
  server = accept();
  say(server, "hello");
  EXPECT_EQ(hear(guest, 5), "hello");
  say(guest, "word");
  EXPECT_EQ(hear(server, 4), "word");
  say(server, "bye");
  server.reset();
  EXPECT_EQ(hear(guest), "bye");
  guest.reset();
  (void)stop();
  const auto recording = Recording::parse(recorded_);
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->openings.size(), 2U);
  ASSERT_EQ(recording->exchanges.size(), 2U);
  EXPECT_EQ(recording->exchanges[0].to_text(), "GET http://" + place() + "/a");
  EXPECT_EQ(recording->exchanges[0].turns.at(0).bytes, kAnswer);
  ASSERT_EQ(recording->exchanges[1].turns.size(), 3U);
  EXPECT_EQ(recording->exchanges[1].turns[1].sha256, BytesHash().add("word").hex());
}

TEST_F(RecordedProxyTest, RecordsARequestWhoseAnswerEndsWhileItsLastBytesAreStillCounted) {
  allow_server();
  tape_ = &taping_;
  bounds_.rate = 100'000;  // Its body takes the proxy 200 ms, and its server none.
  start();
  const std::string body(20'000, 'x');
  const UniqueFd guest = ask("POST http://" + place() + "/a HTTP/1.1\r\nHost: " + place() +
                             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  UniqueFd server = accept();
  say(guest, body);
  std::string heard;
  while (!heard.ends_with(body)) {
    heard += hear(server, 1);
  }
  say(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  server.reset();
  EXPECT_TRUE(hear(guest).ends_with("hi"));
  (void)stop();
  const auto recording = Recording::parse(recorded_);
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->exchanges.size(), 1U);
  http::Head head;
  head.method = "POST";
  head.target = "/a";
  EXPECT_EQ(recording->exchanges[0].asked, asked_hash(head).add(body).hex());
}

TEST_F(RecordedProxyTest, AnswersFromARecordingAndNobodyIsConnectedTo) {
  allow_server();
  http::Head head;
  head.method = "GET";
  head.target = "/a";
  taping_.opened({.place = server_place(), .open = true, .refusal = 502, .connection = {}});
  {
    TapedExchange request(taping_, nullptr, server_place(), /*secure=*/false, head);
    request.asked();
    request.answered("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    request.end(RecordedExchange::End::kClosed);
    TapedExchange talk(taping_, server_place());
    talk.answered("hello");
    talk.sent("word");
    talk.answered("bye");
    talk.end(RecordedExchange::End::kClosed);
  }
  replay();
  start();
  EXPECT_EQ(hear(ask(get("/a"))), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_NE(hear(ask(get("/b"))).find("is not in the recording"), std::string::npos);
  UniqueFd guest = ask_for_tunnel(place());
  ASSERT_EQ(hear(guest, kOpen.size() + 5), std::string(kOpen) + "hello");
  say(guest, "word");
  EXPECT_EQ(hear(guest), "bye");
  guest.reset();
  const auto told = stop();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(std::ranges::count(told, kRecordingRule, &ConnectionRecord::rule), 1);
  pollfd nobody{server_.fd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&nobody, 1, 0), 0);
}

}  // namespace
}  // namespace glovebox::egress
