// SPDX-License-Identifier: Apache-2.0
#include "egress/session.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/text.h"
#include "egress/answering.h"
#include "egress/client_hello.h"
#include "egress/credentials.h"
#include "egress/inspection.h"
#include "egress/playback.h"
#include "egress/relay.h"
#include "egress/taping.h"
#include "egress/tls.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kPiece = 32UL * 1024;
// Requests to this port are read, so they must name the host that the guest connected to.
constexpr std::uint16_t kHttpPort = 80;
// Bounded, because the kernel's buffers of a connection are not charged to any sandbox.
constexpr int kKernelBuffer = 256 * 1024;
// Bytes to read from a guest that still sends after a refusal, so that it sees the answer.
constexpr std::size_t kLastWords = 256UL * 1024;

void bound_buffers(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(asio::socket_base::receive_buffer_size(kKernelBuffer), ignored);
  socket.set_option(asio::socket_base::send_buffer_size(kKernelBuffer), ignored);
  socket.set_option(tcp::no_delay(true), ignored);
}

std::string_view phrase_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return status < 500 ? "Bad Request" : "Bad Gateway";
  }
}

}  // namespace

std::string refusal(int status, std::string_view reason) {
  const std::string body = "glovebox: " + std::string(reason) + "\n";
  return "HTTP/1.1 " + std::to_string(status) + " " + std::string(phrase_of(status)) +
         "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

Session::Session(Proxy& proxy, Socket guest, std::optional<Place> aim, std::string refusal)
    : proxy_(proxy),
      guest_(std::move(guest)),
      server_(guest_.get_executor()),
      aim_(std::move(aim)),
      over_budget_(std::move(refusal)),
      deadline_(Clock::now() + proxy.bounds().for_head) {
  proxy_.enter(this);
  bound_buffers(guest_);
}

Session::~Session() { proxy_.leave(this, record_); }

asio::awaitable<void> Session::run(std::shared_ptr<Session> self) {
  // `self` keeps the session alive: work() only has `this`.
  co_await self->work();
}

void Session::cut() {
  error_code ignored;
  guest_.close(ignored);
  server_.close(ignored);
}

void Session::look(Clock::time_point now) {
  if (now < deadline_) {
    return;
  }
  error_code ignored;
  if (dialing_) {
    server_.close(ignored);
    return;
  }
  if (record_.reason.empty() && record_.verdict == Verdict::kFailed) {
    record_.reason = "the guest sent no whole request in time";
  }
  cut();
}

asio::awaitable<void> Session::work() {
  if (aim_ && is_blind(*aim_)) {
    co_await carry_blindly(*aim_);
  } else {
    co_await carry_request();
  }
}

// Whether what a guest sends to this place is not read as a request.
bool Session::is_blind(const Place& place) const {
  const CredentialFiller* const filler = proxy_.surroundings().filler;
  const bool filled = filler != nullptr && filler->has_for(place, /*secure=*/false);
  const bool tls = filler != nullptr && filler->reads_tls(place);
  return tls || (place.port != kHttpPort && !filled);
}

// Carries a connection that the guest believes to lead to this place, so nothing is said to the
// guest that it would take for an answer of the server.
asio::awaitable<void> Session::carry_blindly(Place place) {
  record_.host = place.host;
  record_.port = place.port;
  const Request request{.connect = true, .place = place};
  if (!co_await connect_out(request)) {
    error_code ignored;
    guest_.set_option(asio::socket_base::linger(true, 0), ignored);  // The guest sees a reset.
    cut();
    co_return;
  }
  co_await carry_tunnel(place);
}

asio::awaitable<void> Session::carry_request() {
  if (!co_await read_head()) {
    co_return;
  }
  std::size_t searched = 0;
  const std::size_t end = *http::end_of_head(heard_, searched);
  const std::string_view head = std::string_view(heard_).substr(0, end);
  auto parsed = aim_ ? parse_request_at(*aim_, head) : parse_request(head);
  if (const auto* const wrong = std::get_if<http::BadRequest>(&parsed)) {
    co_await refuse(wrong->status, wrong->message);
    co_return;
  }
  heard_.erase(0, end);
  auto request = std::get<Request>(std::move(parsed));
  record_.host = request.place.host;
  record_.port = request.place.port;
  http::Head asked = request.head;  // Before anything is filled in.
  if (const CredentialFiller* const filler = proxy_.surroundings().filler;
      filler != nullptr && !request.connect && filler->has_for(request.place, /*secure=*/false)) {
    const auto filled = filler->fill(request.head, request.place, /*secure=*/false);
    if (!filled) {
      co_await refuse(431, filled.error().message());
      co_return;
    }
  }
  if (!co_await connect_out(request)) {
    co_await refuse(dialed_.refusal, request.place.to_text() + ": " + record_.reason);
    co_return;
  }
  if (request.connect) {
    constexpr std::string_view kOpen = "HTTP/1.1 200 Connection established\r\n\r\n";
    error_code error;
    co_await asio::async_write(guest_, asio::buffer(kOpen), with(error));
    co_await carry_tunnel(request.place);
  } else if (Playback* const playback = proxy_.surroundings().playback; playback != nullptr) {
    Answering answering(*this, *playback, request.place);
    co_await answering.answer_request(asked);
  } else {
    const auto relay =
        std::make_shared<Relay>(shared_from_this(), std::move(dialed_), request.place);
    co_await Relay::forward(relay, std::move(request), std::move(asked));
  }
}

asio::awaitable<bool> Session::read_head() {
  std::size_t searched = 0;
  while (!http::end_of_head(heard_, searched)) {
    if (heard_.size() >= bounds().head) {
      co_await refuse(431, "the request's head is too long");
      co_return false;
    }
    if (!co_await hear()) {
      record_.reason = record_.reason.empty() ? "the guest sent no whole request" : record_.reason;
      co_return false;
    }
  }
  co_return true;
}

// False if there is no connection; the record says why.
asio::awaitable<bool> Session::connect_out(const Request& request) {
  const Surroundings& here = proxy_.surroundings();
  if (!over_budget_.empty()) {
    record_.verdict = Verdict::kDenied;
    record_.rule = "budget";
    record_.reason = over_budget_;
    dialed_.refusal = 403;
    co_return false;
  }
  Route route = choose_route(here.order, request.place, request.connect, here.owner_of);
  record_.rule = std::move(route.rule);
  record_.reason = "the connection was cut";
  if (route.way == Route::Way::kDenied) {
    record_.verdict = Verdict::kDenied;
  } else if (here.playback != nullptr) {
    dialed_ = open_recorded(*here.playback, request.place, record_);
  } else {
    Dialing dialing(*this);
    dialed_ = co_await dialing.connect(request, route);
    if (here.tape != nullptr) {
      here.tape->opened({.place = request.place,
                         .open = dialed_.open,
                         .refusal = static_cast<std::uint32_t>(dialed_.refusal),
                         .connection = record_});
    }
  }
  if (dialed_.open) {
    record_.verdict = Verdict::kAllowed;
    moved();
  } else if (record_.verdict == Verdict::kDenied && record_.rule != kRecordingRule) {
    record_.reason = "not allowed: " + record_.rule;
    dialed_.refusal = 403;
  }
  co_return dialed_.open;
}

// Carries what the guest says to the place, without knowing what it is.
asio::awaitable<void> Session::carry_tunnel(const Place& place) {
  const Surroundings& here = proxy_.surroundings();
  if (here.playback != nullptr) {
    Answering answering(*this, *here.playback, place);
    co_await answering.answer_tunnel();
    co_return;
  }
  const bool fills = here.authority != nullptr && here.filler->reads_tls(place);
  const bool records = here.authority != nullptr && here.tape != nullptr;
  bool reads = fills;
  if (!fills && records) {
    reads = co_await guest_begins();
  }
  if (reads) {
    const bool agrees = co_await hear_client(place);
    if (!agrees) {
      co_return;
    }
    reads = read_client_hello(heard_).state == ClientHello::State::kWhole;
  }
  if (reads) {
    co_await read_within(place);
  } else if (fills) {
    record_.verdict = Verdict::kDenied;
    record_.reason =
        "secrets are filled in for this host over TLS, and the guest does not speak it";
    cut();
  } else {
    co_await Relay::tunnel(std::make_shared<Relay>(shared_from_this(), std::move(dialed_), place));
  }
}

// Whether the guest is the first to say something. Until it does, nobody knows whether it will
// speak TLS, and some servers speak first.
asio::awaitable<bool> Session::guest_begins() {
  if (!dialed_.early.empty() || !heard_.empty()) {
    co_return dialed_.early.empty();
  }
  struct Race {
    bool server_spoke = false;
    bool over = false;
  };
  const auto race = std::make_shared<Race>();
  server_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this(), race](const error_code& error) {
                       if (!error && !race->over) {
                         error_code ignored;
                         race->server_spoke = true;
                         self->guest_.cancel(ignored);
                       }
                     });
  error_code ignored;
  co_await guest_.async_wait(tcp::socket::wait_read, with(ignored));
  race->over = true;
  server_.cancel(ignored);
  co_return !race->server_spoke;
}

// Reads what is said within TLS, to fill secrets in there, or for a recording.
asio::awaitable<void> Session::read_within(const Place& place) {
  const Surroundings& here = proxy_.surroundings();
  const std::string from_guest = std::exchange(heard_, {});
  const std::string from_server = std::exchange(dialed_.early, {});
  Inspection::End guest{.ssl = here.authority->serve(place), .sent = from_guest};
  Inspection::End server{.ssl = here.authority->ask(place), .sent = from_server};
  if (!guest.ssl || !server.ssl) {
    record_.verdict = Verdict::kFailed;
    record_.reason = "no memory for TLS";
    cut();
    co_return;
  }
  co_await Inspection::run(std::make_shared<Inspection>(
      shared_from_this(), *here.filler, place, std::move(guest), std::move(server), here.tape));
}

asio::awaitable<bool> Session::hear() {
  const std::size_t had = heard_.size();
  heard_.resize(had + kPiece);
  error_code error;
  const std::size_t got =
      co_await guest_.async_read_some(asio::buffer(heard_.data() + had, kPiece), with(error));
  heard_.resize(had + (error ? 0 : got));
  guest_ended_ = static_cast<bool>(error);
  co_return !error;
}

// A guest that speaks TLS to a name must ask for that name: behind one address there may be hosts
// that no rule allows.
asio::awaitable<bool> Session::hear_client(const Place& place) {
  using State = ClientHello::State;
  ClientHello hello{.state = State::kPartial};
  bool more = !guest_ended_;
  while (heard_.size() < proxy_.bounds().head) {
    hello = read_client_hello(heard_);
    if (hello.state != State::kPartial || !more) {
      break;
    }
    more = co_await hear();
  }
  const bool silent = heard_.empty();
  const bool agrees = hello.state == State::kNone ||
                      (hello.state == State::kWhole &&
                       (place.address || hello.host.empty() || hello.host == place.host));
  if (silent || agrees) {
    co_return true;
  }
  record_.verdict = Verdict::kDenied;
  record_.reason = hello.state == State::kWhole
                       ? "TLS asks for '" + printable(to_utf8(hello.host.substr(0, 300))) +
                             "', not for the host of the connection"
                       : "the TLS handshake is damaged";
  if (record_.received == 0) {
    // A fatal alert: unrecognized_name (RFC 6066, 3).
    constexpr std::string_view kAlert("\x15\x03\x03\x00\x02\x02\x70", 7);
    error_code ignored;
    co_await asio::async_write(guest_, asio::buffer(kAlert), with(ignored));
  }
  cut();
  co_return false;
}

asio::awaitable<error_code> Session::connect(tcp::endpoint endpoint) {
  error_code error;
  server_.close(error);
  server_.open(endpoint.protocol(), error);
  if (!error) {
    bound_buffers(server_);
    dialing_ = true;
    give(bounds().for_dial);
    co_await server_.async_connect(endpoint, with(error));
    dialing_ = false;
  }
  co_return error;
}

asio::awaitable<bool> Session::spend(std::size_t sent, std::size_t received) {
  record_.sent += sent;
  record_.received += received;
  const std::string_view exhausted = proxy_.spend(sent, received);
  if (!exhausted.empty()) {
    record_.reason = exhausted;
    co_return false;
  }
  co_await proxy_.pace(sent, received);
  moved();
  co_return guest_.is_open();
}

asio::awaitable<void> Session::refuse(int status, std::string reason) {
  if (record_.reason.empty()) {
    record_.reason = reason;
  }
  const std::string answer = refusal(status, reason);
  give(bounds().for_dial);
  error_code error;
  co_await asio::async_write(guest_, asio::buffer(answer), with(error));
  guest_.shutdown(tcp::socket::shutdown_send, error);
  for (std::size_t read = 0; !error && read < kLastWords; read += heard_.size()) {
    heard_.clear();
    if (!co_await hear()) {
      break;
    }
  }
  cut();
}

}  // namespace glovebox::egress
