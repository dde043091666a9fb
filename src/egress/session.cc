// SPDX-License-Identifier: Apache-2.0
#include "egress/session.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "egress/answering.h"
#include "egress/client_hello.h"
#include "egress/credentials.h"
#include "egress/inspection.h"
#include "egress/playback.h"
#include "egress/tls.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kPiece = 32UL * 1024;
// Requests to this port are read, and so are held to the host that they were connected to.
constexpr std::uint16_t kHttpPort = 80;
// The kernel's buffers of a connection are charged to nobody's sandbox.
constexpr int kKernelBuffer = 256 * 1024;
// What is read of a guest that goes on sending after it was refused, so that it sees the answer.
constexpr std::size_t kLastWords = 256UL * 1024;

auto with(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

tcp::endpoint endpoint_of(const IpAddress& address, std::uint16_t port) {
  if (address.v4) {
    asio::ip::address_v4::bytes_type bytes{};
    std::memcpy(bytes.data(), address.bytes.data(), bytes.size());
    return {asio::ip::address_v4(bytes), port};
  }
  asio::ip::address_v6::bytes_type bytes{};
  std::memcpy(bytes.data(), address.bytes.data(), bytes.size());
  return {asio::ip::address_v6(bytes), port};
}

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
  // Kept here: the work itself knows only `this`.
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

// What was to be a connection to this place: nothing is said to the guest that it would take for an
// answer of the server.
asio::awaitable<void> Session::carry_blindly(Place place) {
  record_.host = place.host;
  record_.port = place.port;
  const Request request{.connect = true, .place = place};
  if (!co_await connect_out(request)) {
    name_refusal();
    error_code ignored;
    guest_.set_option(asio::socket_base::linger(true, 0), ignored);  // The guest sees a reset.
    cut();
    co_return;
  }
  record_.verdict = Verdict::kAllowed;
  moved();
  co_await inspect(place);
}

void Session::name_refusal() {
  if (record_.verdict == Verdict::kDenied && over_budget_.empty() &&
      record_.rule != kRecordingRule) {
    record_.reason = "not allowed: " + record_.rule;
    refusal_ = 403;
  }
}

asio::awaitable<void> Session::carry_request() {
  if (!co_await read_head()) {
    co_return;
  }
  std::size_t searched = 0;
  const std::size_t end = *http::end_of_head(in_, searched);
  const std::string_view head = std::string_view(in_).substr(0, end);
  auto parsed = aim_ ? parse_request_at(*aim_, head) : parse_request(head);
  if (const auto* const wrong = std::get_if<http::BadRequest>(&parsed)) {
    co_await refuse(wrong->status, wrong->message);
    co_return;
  }
  in_.erase(0, end);
  auto request = std::get<Request>(std::move(parsed));
  record_.host = request.place.host;
  record_.port = request.place.port;
  const http::Head asked = request.head;  // Before anything is filled in.
  if (const CredentialFiller* const filler = proxy_.surroundings().filler;
      filler != nullptr && !request.connect && filler->has_for(request.place, /*secure=*/false)) {
    hiding_ = request.place;
    const auto filled = filler->fill(request.head, request.place, /*secure=*/false);
    if (!filled) {
      co_await refuse(431, filled.error().message());
      co_return;
    }
  }
  if (!co_await connect_out(request)) {
    name_refusal();
    co_await refuse(refusal_, request.place.to_text() + ": " + record_.reason);
    co_return;
  }
  record_.verdict = Verdict::kAllowed;
  moved();
  if (request.connect) {
    constexpr std::string_view kOpen = "HTTP/1.1 200 Connection established\r\n\r\n";
    error_code error;
    co_await asio::async_write(guest_, asio::buffer(kOpen), with(error));
    co_await inspect(request.place);
  } else if (proxy_.surroundings().playback != nullptr) {
    Answering answering(*this, *proxy_.surroundings().playback, request.place,
                        std::exchange(in_, {}));
    co_await answering.answer_request(asked);
  } else {
    if (Tape* const tape = proxy_.surroundings().tape; tape != nullptr) {
      taped_ = std::make_unique<TapedExchange>(*tape, proxy_.surroundings().filler, request.place,
                                               /*secure=*/false, asked);
    }
    co_await forward(request);
  }
}

asio::awaitable<bool> Session::read_head() {
  std::size_t searched = 0;
  while (!http::end_of_head(in_, searched)) {
    if (in_.size() >= proxy_.bounds().head) {
      co_await refuse(431, "the request's head is too long");
      co_return false;
    }
    if (!co_await take_in(in_, kPiece)) {
      record_.reason = record_.reason.empty() ? "the guest sent no whole request" : record_.reason;
      co_return false;
    }
  }
  co_return true;
}

// Reads what the guest has sent.
asio::awaitable<bool> Session::take_in(std::string& bytes, std::size_t most) {
  const std::size_t had = bytes.size();
  bytes.resize(had + most);
  error_code error;
  const std::size_t got =
      co_await guest_.async_read_some(asio::buffer(bytes.data() + had, most), with(error));
  bytes.resize(had + (error ? 0 : got));
  guest_ended_ = static_cast<bool>(error);
  co_return !error;
}

// ---- the way out --------------------------------------------------------------------------------

asio::awaitable<bool> Session::connect_out(const Request& request) {
  const Surroundings& here = proxy_.surroundings();
  if (!over_budget_.empty()) {
    record_.verdict = Verdict::kDenied;
    record_.rule = "budget";
    record_.reason = over_budget_;
    refusal_ = 403;
    co_return false;
  }
  Route route = choose_route(here.order, request.place, request.connect, here.owner_of);
  record_.rule = std::move(route.rule);
  record_.reason = "the connection was cut";
  upstream_ = route.upstream;
  if (route.way == Route::Way::kDenied) {
    record_.verdict = Verdict::kDenied;
    co_return false;
  }
  if (here.playback != nullptr) {
    co_return connect_recorded(request.place);
  }
  bool open = false;
  if (route.way == Route::Way::kDirect) {
    open = co_await connect_direct(request.place);
  } else {
    open = co_await connect_upstream(request);
  }
  if (here.tape != nullptr) {
    here.tape->opened({.place = request.place,
                       .open = open,
                       .refusal = static_cast<std::uint32_t>(refusal_),
                       .connection = record_});
  }
  co_return open;
}

// As it went when it was recorded.
bool Session::connect_recorded(const Place& place) {
  const RecordedOpening* const opening = proxy_.surroundings().playback->open(place);
  if (opening == nullptr) {
    record_.verdict = Verdict::kDenied;
    record_.rule = kRecordingRule;
    record_.reason = "no connection to it is in the recording";
    refusal_ = 403;
    return false;
  }
  record_.address = opening->connection.address;
  if (opening->open) {
    record_.reason.clear();
    return true;
  }
  record_.verdict = opening->connection.verdict;
  record_.rule = opening->connection.rule;
  record_.reason = opening->connection.reason;
  refusal_ = static_cast<int>(opening->refusal);
  return false;
}

asio::awaitable<bool> Session::connect_direct(const Place& place) {
  std::vector<IpAddress> addresses;
  if (place.address) {
    addresses.push_back(*place.address);
  } else {
    addresses = co_await look_up(place.host);
    if (addresses.empty()) {
      co_return false;
    }
  }
  const Surroundings& here = proxy_.surroundings();
  Candidates candidates = allowed_addresses(here.order, place, addresses, here.owner_of);
  record_.rule = std::move(candidates.rule);
  if (candidates.allowed.empty()) {
    record_.verdict = Verdict::kDenied;
    record_.address = addresses.front().to_text();
    co_return false;
  }
  // What was checked is what is dialed: nobody looks the name up again.
  for (const IpAddress& address : candidates.allowed) {
    if (!guest_.is_open()) {
      co_return false;
    }
    if (co_await dial(address, place.port)) {
      co_return true;
    }
  }
  co_return false;
}

asio::awaitable<bool> Session::connect_upstream(const Request& request) {
  record_.upstream = true;
  // The operator's own proxy may have any address, so no rule is asked about it.
  std::vector<IpAddress> addresses;
  if (const auto address = IpAddress::parse(upstream_->host)) {
    addresses.push_back(*address);
  } else {
    addresses = co_await look_up(upstream_->host);
  }
  for (const IpAddress& address : addresses) {
    if (!guest_.is_open()) {
      co_return false;
    }
    if (co_await dial(address, upstream_->port)) {
      record_.address.clear();
      if (!request.connect) {
        co_return true;
      }
      co_return co_await open_tunnel(request.place);
    }
  }
  record_.address.clear();
  record_.reason = "the proxy of this host cannot be reached: " + record_.reason;
  co_return false;
}

asio::awaitable<std::vector<IpAddress>> Session::look_up(std::string name) {
  // The answer may come when the session has ended, so both hold what it is put into.
  struct Waiting {
    explicit Waiting(asio::io_context& loop) : told(loop) {}
    asio::steady_timer told;
    std::vector<IpAddress> addresses;
    std::string failure;
    bool done = false;
  };
  asio::io_context& loop = proxy_.surroundings().loop;
  const auto waiting = std::make_shared<Waiting>(loop);
  waiting->told.expires_at(asio::steady_timer::time_point::max());
  deadline_ = Clock::now() + 2 * proxy_.bounds().for_dial;  // The resolver ends it before.
  proxy_.surroundings().resolver.resolve(name, [waiting](Result<std::vector<IpAddress>> found) {
    waiting->done = true;
    if (found) {
      waiting->addresses = std::move(found).value();
    } else {
      waiting->failure = found.error().message();
    }
    waiting->told.cancel();
  });
  if (!waiting->done) {
    error_code ignored;
    co_await waiting->told.async_wait(with(ignored));
  }
  if (waiting->addresses.empty()) {
    record_.reason = waiting->failure;
  }
  co_return std::move(waiting->addresses);
}

asio::awaitable<bool> Session::dial(IpAddress address, std::uint16_t port) {
  const tcp::endpoint endpoint = endpoint_of(address, port);
  error_code error;
  server_.close(error);
  server_.open(endpoint.protocol(), error);
  record_.address = address.to_text();
  if (!error) {
    bound_buffers(server_);
    dialing_ = true;
    deadline_ = Clock::now() + proxy_.bounds().for_dial;
    co_await server_.async_connect(endpoint, with(error));
    dialing_ = false;
  }
  if (!error) {
    record_.reason.clear();
    co_return true;
  }
  const bool late = error == asio::error::operation_aborted;
  refusal_ = late ? 504 : 502;
  record_.reason = late ? "no answer in time" : "connect: " + error.message();
  co_return false;
}

// Asks the upstream for a tunnel, and reads no further than its answer's head and what came with
// it.
asio::awaitable<bool> Session::open_tunnel(const Place& place) {
  deadline_ = Clock::now() + 2 * proxy_.bounds().for_dial;
  const std::string asked = tunnel_head(place, *upstream_);
  error_code error;
  co_await asio::async_write(server_, asio::buffer(asked), with(error));
  std::size_t searched = 0;
  std::optional<std::size_t> end;
  std::array<char, 4096> block{};
  while (!error && !(end = http::end_of_head(early_, searched)) &&
         early_.size() < proxy_.bounds().head) {
    const std::size_t got = co_await server_.async_read_some(asio::buffer(block), with(error));
    early_.append(block.data(), error ? 0 : got);
  }
  // "HTTP/1.1 200 …"; any 2xx opens the tunnel (RFC 9110, 9.3.6).
  constexpr std::string_view kStart = "HTTP/1.";
  const bool opened = end && early_.starts_with(kStart) && early_.size() > 12 && early_[9] == '2';
  if (!opened) {
    const std::string status =
        end && early_.starts_with(kStart) ? " with status " + early_.substr(9, 3) : "";
    record_.reason = "the proxy of this host refused the connection" + status;
    co_return false;
  }
  early_.erase(0, *end);
  co_return true;
}

// ---- carrying -----------------------------------------------------------------------------------

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

asio::awaitable<bool> Session::send_out(std::string bytes) {
  error_code error;
  co_await asio::async_write(server_, asio::buffer(bytes), with(error));
  const bool more = co_await spend(bytes.size(), 0);
  co_return more && !error;
}

// For what goes out; nothing where it is not recorded.
std::function<void(std::span<char>)> Session::taping() {
  if (!taped_) {
    return {};
  }
  return [this](std::span<char> piece) { taped_->sent({piece.data(), piece.size()}); };
}

// All that comes of the server, as it comes, until it ends. What it says can hurt the guest alone,
// who chose to ask it.
asio::awaitable<void> Session::bring_in(std::shared_ptr<Session> self) {
  Session& here = *self;
  error_code error;
  if (!here.early_.empty()) {
    co_await asio::async_write(here.guest_, asio::buffer(here.early_), with(error));
    if (here.taped_) {
      here.taped_->answered(here.early_);
    }
  }
  Flow flow{.direction = Direction::kIn};
  if (here.hiding_ || here.taped_) {
    flow.change = [&here](std::span<char> piece) {
      if (here.hiding_) {
        here.proxy_.surroundings().filler->hide(piece, *here.hiding_, /*secure=*/false);
      }
      if (here.taped_) {
        here.taped_->answered({piece.data(), piece.size()});
      }
    };
  }
  FlowEnd end = FlowEnd::kStopped;
  if (!error) {
    end = co_await carry(here, std::move(flow));
  }
  if (here.taped_) {
    using End = RecordedExchange::End;
    here.taped_->end(end == FlowEnd::kEnded ? End::kClosed : End::kCut);
  }
  if (end == FlowEnd::kEnded) {
    here.guest_.shutdown(tcp::socket::shutdown_send, error);
  } else {
    here.cut();
  }
}

// Whoever speaks TLS to a name must ask for that name: behind one address there may be hosts that
// no rule allows. False where the connection is over.
asio::awaitable<bool> Session::hear_client(const Place& place) {
  using State = ClientHello::State;
  ClientHello hello{.state = State::kPartial};
  bool more = !guest_ended_;
  while (in_.size() < proxy_.bounds().head) {
    hello = read_client_hello(in_);
    if (hello.state != State::kPartial || !more) {
      break;
    }
    more = co_await take_in(in_, kPiece);
  }
  const bool silent = in_.empty();
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

// What is recorded of a server in its place.
asio::awaitable<void> Session::replay(const Place& place) {
  const Surroundings& here = proxy_.surroundings();
  if (!here.playback->server_begins(place)) {
    const bool agrees = co_await hear_client(place);
    if (!agrees) {
      co_return;
    }
  }
  const bool secure = read_client_hello(in_).state == ClientHello::State::kWhole;
  Answering answering(*this, *here.playback, place, std::exchange(in_, {}));
  Ssl ssl = secure && here.authority != nullptr ? here.authority->serve(place) : nullptr;
  if (ssl) {
    co_await answering.answer_secure(std::move(ssl));
  } else {
    co_await answering.answer_connection();
  }
}

// Whether the first to say something is the guest. Until then nobody knows whether it will speak
// TLS, and there are servers that speak first.
asio::awaitable<bool> Session::guest_begins() {
  if (!early_.empty() || !in_.empty()) {
    co_return early_.empty();
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

// A tunnel, unless TLS in it is to be read: for secrets that are filled in within it, or for a
// recording.
asio::awaitable<void> Session::inspect(const Place& place) {
  const Surroundings& here = proxy_.surroundings();
  if (here.playback != nullptr) {
    co_await replay(place);
    co_return;
  }
  const bool fills = here.authority != nullptr && here.filler->reads_tls(place);
  const bool records = here.authority != nullptr && here.tape != nullptr;
  bool reads = fills;
  if (!fills && records) {
    reads = co_await guest_begins();
  }
  if (!reads) {
    co_await tunnel(place);
    co_return;
  }
  const bool agrees = co_await hear_client(place);
  if (!agrees) {
    co_return;
  }
  const bool secure = read_client_hello(in_).state == ClientHello::State::kWhole;
  if (!secure && !fills) {
    co_await tunnel(place);
    co_return;
  }
  if (!secure) {
    record_.verdict = Verdict::kDenied;
    record_.reason =
        "secrets are filled in for this host over TLS, and the guest does not speak it";
    cut();
    co_return;
  }
  const std::string from_guest = std::exchange(in_, {});
  const std::string from_server = std::exchange(early_, {});
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

asio::awaitable<void> Session::tunnel(const Place& place) {
  if (Tape* const tape = proxy_.surroundings().tape; tape != nullptr) {
    taped_ = std::make_unique<TapedExchange>(*tape, place);
  }
  // Beside what follows: there are servers that speak first.
  asio::co_spawn(guest_.get_executor(), bring_in(shared_from_this()), asio::detached);
  bool more = co_await hear_client(place);
  if (!more) {
    co_return;
  }
  if (!in_.empty()) {
    if (taped_) {
      taped_->sent(in_);
    }
    more = co_await send_out(std::exchange(in_, {}));
  }
  FlowEnd end = more ? FlowEnd::kEnded : FlowEnd::kStopped;
  // Asio waits for ever where it is asked for more after the end, or after an error.
  if (more && !guest_ended_) {
    const Flow flow{.direction = Direction::kOut, .change = taping()};
    end = co_await carry(*this, flow);
  }
  if (end == FlowEnd::kStopped) {
    cut();
    co_return;
  }
  error_code ignored;
  server_.shutdown(tcp::socket::shutdown_send, ignored);
}

// One request: its body ends where its head says, and nothing behind it goes on. So the server sees
// no request that we have not read.
asio::awaitable<void> Session::forward(const Request& request) {
  const auto whole = [this] {
    if (taped_) {
      taped_->asked();
    }
  };
  http::BodyDecoder body(request.head);
  if (body.done()) {
    whole();
  }
  if (!co_await send_out(onward_head(request, upstream_))) {
    cut();
    co_return;
  }
  asio::co_spawn(guest_.get_executor(), bring_in(shared_from_this()), asio::detached);
  std::vector<char> block(kPiece);
  while (!body.done()) {
    if (in_.empty() && body.plain_bytes() > 0) {
      const Flow rest{.direction = Direction::kOut, .most = body.plain_bytes(), .change = taping()};
      const FlowEnd end = co_await carry(*this, rest);
      if (end != FlowEnd::kEnough) {
        cut();
        co_return;
      }
      body.skip(rest.most);
      if (body.done()) {
        whole();
      }
      continue;
    }
    const auto step = body.decode(in_, block);
    if (!step) {
      record_.reason = step.error().message();
      cut();
      co_return;
    }
    in_.erase(0, step->consumed);
    if (taped_) {
      taped_->sent({block.data(), step->produced});
    }
    if (body.done()) {
      whole();
    }
    bool more = true;
    if (step->produced > 0) {
      more = co_await send_out(frame_piece(request, {block.data(), step->produced}));
    } else if (step->consumed == 0) {
      more = co_await take_in(in_, kPiece);
    }
    if (!more) {
      cut();
      co_return;
    }
  }
  if (request.head.chunked) {
    const bool sent = co_await send_out(frame_piece(request, {}));
    if (!sent) {
      cut();
    }
  }
}

asio::awaitable<void> Session::refuse(int status, std::string reason) {
  if (record_.reason.empty()) {
    record_.reason = reason;
  }
  const std::string answer = refusal(status, reason);
  deadline_ = Clock::now() + proxy_.bounds().for_dial;
  error_code error;
  co_await asio::async_write(guest_, asio::buffer(answer), with(error));
  guest_.shutdown(tcp::socket::shutdown_send, error);
  std::string ignored;
  for (std::size_t read = 0; !error && read < kLastWords; read += ignored.size()) {
    ignored.clear();
    if (!co_await take_in(ignored, 4096)) {
      break;
    }
  }
  cut();
}

}  // namespace glovebox::egress
