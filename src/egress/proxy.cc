// SPDX-License-Identifier: Apache-2.0
#include "egress/proxy.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <span>
#include <utility>

#include "egress/session.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

// How often to look for sessions that are out of time.
constexpr auto kLook = 1s;
constexpr auto kPause = 20ms;
constexpr auto kPaceStep = 100ms;
// Refused connections count, too. After this many, nobody listens any more.
constexpr std::uint64_t kMostAccepted = 200'000;
// If there is a rate, pieces have the bytes of a tenth of a second, but at least this many.
constexpr std::uint64_t kLeastPiece = 32UL * 1024;
constexpr std::uint64_t kPiecesASecond = 10;
// So that a guest that only asks does not take a processor: 3,200 questions a second.
constexpr unsigned kQuestionsAtOnce = 64;

// How long these bytes, a piece of a connection, take at `rate` bytes a second.
std::chrono::microseconds time_of(std::uint64_t bytes, std::uint64_t rate) {
  return std::chrono::microseconds(bytes * 1'000'000 / rate);
}

}  // namespace

Proxy::Proxy(Surroundings surroundings, int listener, int names)
    : surroundings_(std::move(surroundings)),
      acceptor_(surroundings_.loop, asio::ip::tcp::v4(), listener),
      own_(acceptor_.local_endpoint()),
      questions_(surroundings_.loop, asio::ip::udp::v4(), names),
      pause_(surroundings_.loop),
      breath_(surroundings_.loop),
      clock_(surroundings_.loop) {}

Proxy::~Proxy() = default;

void Proxy::start() {
  asio::co_spawn(surroundings_.loop, accept_all(), asio::detached);
  asio::co_spawn(surroundings_.loop, answer_questions(), asio::detached);
  look();
}

void Proxy::stop() {
  stopped_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  questions_.close(ignored);
  pause_.cancel();
  breath_.cancel();
  clock_.cancel();
  for (Session* const session : sessions_) {
    session->cut();
  }
}

void Proxy::leave(Session* session, const ConnectionRecord& connection) {
  sessions_.erase(session);
  surroundings_.tell(connection);
}

std::string_view Proxy::spend(std::uint64_t sent, std::uint64_t received) {
  sent_ += sent;
  received_ += received;
  if (sent_ > bounds().sent) {
    return "the sandbox has sent too many bytes";
  }
  return received_ > bounds().received ? "the sandbox has received too many bytes" : "";
}

std::uint64_t Proxy::room(Direction direction) const {
  const bool out = direction == Direction::kOut;
  const std::uint64_t most = out ? bounds().sent : bounds().received;
  const std::uint64_t had = out ? sent_ : received_;
  // One byte more than allowed, so that an excess is noticed.
  const std::uint64_t left = had < most ? most - had + 1 : 1;
  return bounds().rate == 0 ? left
                            : std::min(left, std::max(kLeastPiece, bounds().rate / kPiecesASecond));
}

asio::awaitable<void> Proxy::pace(std::uint64_t sent, std::uint64_t received) {
  if (bounds().rate == 0) {
    co_return;
  }
  const auto now = std::chrono::steady_clock::now();
  sent_until_ = std::max(sent_until_, now) + time_of(sent, bounds().rate);
  received_until_ = std::max(received_until_, now) + time_of(received, bounds().rate);
  const auto until = sent > 0 ? sent_until_ : received_until_;
  asio::steady_timer timer(surroundings_.loop);
  // In steps, so that a sandbox that ends does not have to wait.
  for (auto at = now; at < until && !stopped_; at = std::chrono::steady_clock::now()) {
    error_code ignored;
    timer.expires_after(std::min<std::chrono::steady_clock::duration>(until - at, kPaceStep));
    co_await timer.async_wait(with(ignored));
  }
}

Bounds Bounds::within(const NetworkBudget& budget) const {
  Bounds both = *this;
  both.connections = std::min(connections, budget.connections.value_or(connections));
  both.sent = std::min(sent, budget.sent.value_or(sent));
  both.received = std::min(received, budget.received.value_or(received));
  both.rate = budget.rate.value_or(rate);
  return both;
}

asio::awaitable<void> Proxy::wait(asio::steady_timer& timer, std::chrono::milliseconds time) {
  error_code ignored;
  timer.expires_after(time);
  co_await timer.async_wait(with(ignored));
}

asio::awaitable<void> Proxy::answer_questions() {
  std::array<std::uint8_t, 512> question{};  // RFC 1035, 4.2.1.
  auto since = std::chrono::steady_clock::now();
  for (unsigned count = 1; !stopped_; ++count) {
    asio::ip::udp::endpoint asker;
    error_code error;
    const std::size_t size =
        co_await questions_.async_receive_from(asio::buffer(question), asker, with(error));
    if (!error) {
      if (const auto answer = names_.answer(std::span(question).first(size))) {
        co_await questions_.async_send_to(asio::buffer(*answer), asker, with(error));
      }
    }
    if (count % kQuestionsAtOnce == 0) {
      const auto took = std::chrono::steady_clock::now() - since;
      if (took < kPause) {
        co_await wait(breath_, std::chrono::ceil<std::chrono::milliseconds>(kPause - took));
      }
      since = std::chrono::steady_clock::now();
    }
  }
}

// The original destination of a connection that was redirected here.
std::optional<Place> Proxy::aim_of(const asio::ip::tcp::endpoint& endpoint) const {
  if (endpoint == own_) {
    return std::nullopt;
  }
  IpAddress address{.v4 = true};
  std::ranges::copy(endpoint.address().to_v4().to_bytes(), address.bytes.begin());
  if (auto name = names_.name_of(address)) {
    return Place{.host = *std::move(name), .port = endpoint.port()};
  }
  return Place{.host = address.to_text(), .address = address, .port = endpoint.port()};
}

asio::awaitable<void> Proxy::accept_all() {
  while (!stopped_ && accepted_ < kMostAccepted) {
    if (sessions_.size() >= bounds().sessions || !surroundings_.may_accept()) {
      co_await wait(pause_, kPause);
      continue;
    }
    error_code error;
    auto socket = co_await acceptor_.async_accept(with(error));
    const auto accepted_at = error ? asio::ip::tcp::endpoint() : socket.local_endpoint(error);
    if (error) {
      // No descriptor is free, or the guest was gone before we looked.
      co_await wait(pause_, kPause);
      continue;
    }
    ++accepted_;
    auto session = std::make_shared<Session>(
        *this, std::move(socket), aim_of(accepted_at),
        accepted_ > bounds().connections ? "the sandbox has made too many connections" : "");
    asio::co_spawn(surroundings_.loop, Session::run(std::move(session)), asio::detached);
  }
  error_code ignored;
  acceptor_.close(ignored);
}

void Proxy::look() {
  clock_.expires_after(kLook);
  clock_.async_wait([this](const error_code& error) {
    if (error || stopped_) {
      return;
    }
    const auto now = Session::Clock::now();
    for (Session* const session : sessions_) {
      session->look(now);
    }
    look();
  });
}

}  // namespace glovebox::egress
