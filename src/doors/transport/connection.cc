// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/connection.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <mutex>

#include "base/json/json.h"
#include "doors/transport/blocking.h"
#include "doors/transport/exchange.h"
#include "doors/transport/status.h"
#include "doors/transport/websocket.h"
#include "spec/json/schema.h"

namespace glovebox::http {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kPiece = 16 * 1024;
// A body up to this size is whole before a handler gets the request.
constexpr std::uint64_t kSmallBody = 16 * 1024;
// What an idle connection may keep allocated.
constexpr std::size_t kKept = 2 * 1024;
// How long any handler's thread waits for the next request, and for the rest of its head. One of so
// many handlers may wait as long as ServerOptions::linger says.
constexpr auto kLinger = 5ms;
constexpr std::size_t kHandlersForLingering = 128;
// How long the peer has to read an answer that ends the connection: closing at once would reset it.
constexpr auto kEndPatience = 2s;
// What a handler sends of a file before it looks whether others wait.
constexpr std::uint64_t kFileBurst = 8UL << 20;
// A request that waited longer for a handler is not worth the work.
constexpr auto kLongestWait = 20s;

std::string refusal(const BadRequest& bad) {
  const std::string body =
      nlohmann::ordered_json{{"schema", schema_of("error")},
                             {"code", bad.status},
                             {"error", bad.error},
                             {"message", bad.message},
                             {"hint", ""}}
          .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
      "\n";
  std::string answer = "HTTP/1.1 " + std::to_string(bad.status) + " ";
  answer += reason_phrase(bad.status);
  answer += "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size());
  answer += bad.status == 503 ? "\r\nRetry-After: 1" : "";
  answer += "\r\nConnection: close\r\n\r\n";
  return answer + body;
}

class LoopConnection final : public Connection {
 public:
  LoopConnection(Shared& shared,
                 std::uint64_t number,
                 std::unique_ptr<Channel> channel,
                 std::string peer,
                 bool over_unix_socket)
      : shared_(shared),
        number_(number),
        channel_(std::move(channel)),
        descriptor_(channel_->fd()),
        peer_(std::move(peer)),
        over_unix_socket_(over_unix_socket),
        ready_(*shared.io),
        unsent_(reader_bounds(shared.options)) {}
  LoopConnection(const LoopConnection&) = delete;
  LoopConnection& operator=(const LoopConnection&) = delete;

  ~LoopConnection() override {
    {
      const std::scoped_lock lock(cut_mutex_);
      descriptor_ = -1;
    }
    (void)ready_.release();  // The channel closes it.
  }

  void start() override {
    deadline_ = Clock::now() + shared_.options.header_patience;
    advance();
  }

  void sweep(Clock::time_point now) override {
    if (stage_ == Stage::kWorking || now < deadline_) {
      return;
    }
    if (stage_ == Stage::kBody || (stage_ == Stage::kHead && !in_.empty())) {
      refuse(
          {.status = 408, .error = "too_slow", .message = "timed out while reading the request"});
    } else {
      end();
    }
  }

  std::optional<Clock::time_point> idle_since() const override {
    return stage_ == Stage::kHead && in_.empty()
               ? std::optional(deadline_ - shared_.options.idle_patience)
               : std::nullopt;
  }

  void end_idle() override {
    if (stage_ == Stage::kHead && in_.empty()) {
      end();
    }
  }

  std::optional<Clock::time_point> trickles_since() const override {
    const bool begun = stage_ == Stage::kHandshake || stage_ == Stage::kBody ||
                       (stage_ == Stage::kHead && !in_.empty());
    return begun ? std::optional(deadline_ - shared_.options.header_patience) : std::nullopt;
  }

  void end_trickle() override {
    if (trickles_since()) {
      end();
    }
  }

  const std::string& peer() const override { return peer_; }

  void cut() override {
    const std::scoped_lock lock(cut_mutex_);
    if (descriptor_ != -1) {
      (void)::shutdown(descriptor_, SHUT_RDWR);
    }
  }

 private:
  // kWorking: not the loop's, but a handler's, a WebSocket's or a relay's.
  enum class Stage { kHandshake, kHead, kBody, kWorking, kSending, kLastRead, kEnded };
  static ReaderBounds reader_bounds(const ServerOptions& options) {
    return {.silence = options.body_patience,
            .grace = options.reader_grace,
            .least_rate = options.least_rate};
  }
  std::shared_ptr<LoopConnection> self() {
    return std::static_pointer_cast<LoopConnection>(shared_from_this());
  }

  // Loop's thread.
  void advance();
  void read_head();
  void read_small_body();
  bool receive();
  void discard();
  void wait(Channel::Status wanted);
  bool head_is_whole();
  [[nodiscard]] std::variant<Head, BadRequest> parse() const {
    return parse_head(std::string_view(in_).substr(0, head_size_));
  }
  bool lacks_small_body();
  std::string owner();
  void refuse(const BadRequest& bad);
  void start_sending();
  void send_rest();
  void sent(const Channel::Outcome& outcome);
  void next_stage();
  void last_read();
  void end();
  bool submit(HandlerPool::Task task) { return shared_.pool->submit(owner_, std::move(task)); }

  // Handler's thread.
  void work(Clock::duration waited);
  Exchange::Next answer(bool& outside);
  bool linger();
  bool await_request();
  void send_file();
  void start_relay();
  void start_pieces();
  void give_back();
  Result<std::unique_ptr<WebSocket>> upgrade(const Head& head, std::string_view protocol);

  Shared& shared_;
  const std::uint64_t number_;
  std::unique_ptr<Channel> channel_;
  std::mutex cut_mutex_;
  int descriptor_;
  const std::string peer_;
  std::string owner_;  // Whose the request seems to be: its owner in the handlers' pool.
  const bool over_unix_socket_;
  asio::posix::stream_descriptor ready_;
  Stage stage_ = Stage::kHandshake;
  Clock::time_point deadline_{};
  std::string in_;
  std::size_t searched_ = 0;
  std::size_t head_size_ = 0;                             // Once it is whole.
  std::optional<std::variant<Head, BadRequest>> parsed_;  // If the loop had to read it.
  Unsent unsent_;
  bool ends_when_sent_ = false;
  Clock::time_point waits_since_{};  // For a reader.
  std::optional<RelayOrder> relay_;
  std::optional<PieceOrder> pieces_;
};

void LoopConnection::wait(Channel::Status wanted) {
  if (!ready_.is_open()) {
    boost::system::error_code error;
    ready_.assign(channel_->fd(), error);
    if (error) {
      end();
      return;
    }
  }
  ready_.async_wait(wanted == Channel::Status::kWantRead ? asio::posix::descriptor_base::wait_read
                                                         : asio::posix::descriptor_base::wait_write,
                    [connection = self()](const boost::system::error_code& error) {
                      if (!error) {
                        connection->advance();
                      }
                    });
}

void LoopConnection::advance() {
  switch (stage_) {
    case Stage::kHandshake: {
      const Channel::Outcome outcome = channel_->handshake();
      if (outcome.status == Channel::Status::kDone) {
        stage_ = Stage::kHead;
        deadline_ = Clock::now() + shared_.options.idle_patience;
        read_head();
      } else if (outcome.status == Channel::Status::kWantRead ||
                 outcome.status == Channel::Status::kWantWrite) {
        wait(outcome.status);
      } else {
        end();
      }
      return;
    }
    case Stage::kHead:
      read_head();
      return;
    case Stage::kBody:
      read_small_body();
      return;
    case Stage::kSending:
      send_rest();
      return;
    case Stage::kLastRead:
      discard();
      return;
    case Stage::kWorking:
    case Stage::kEnded:
      return;
  }
}

bool LoopConnection::head_is_whole() {
  // Empty lines in front are forgiven (RFC 9112, 2.2).
  if (searched_ == 0 && in_.starts_with("\r\n")) {
    in_.erase(0, std::min(in_.find_first_not_of("\r\n"), in_.size()));
  }
  const auto end = end_of_head(in_, searched_);
  head_size_ = end.value_or(0);
  return end.has_value() && *end <= shared_.options.max_header_bytes;
}

// Whether part of a small body is missing that will come without being asked for.
bool LoopConnection::lacks_small_body() {
  if (in_.starts_with("GET ") || in_.starts_with("HEAD ")) {
    return false;  // They have none, as a rule.
  }
  if (!parsed_) {
    parsed_ = parse();
  }
  const auto* head = std::get_if<Head>(&*parsed_);
  const std::uint64_t length = head == nullptr ? 0 : head->content_length.value_or(0);
  return length > 0 && length <= kSmallBody && !head->expects_continue &&
         in_.size() < head_size_ + length;
}

// A client that has a key sends it with every request, so it waits only behind its own requests.
// Whether the key is valid is not known yet; a client that guesses is refused at once, and holds no
// thread for long.
std::string LoopConnection::owner() {
  if (!parsed_) {
    parsed_ = parse();
  }
  const auto* head = std::get_if<Head>(&*parsed_);
  for (const std::string_view name : {"x-api-key", "authorization"}) {
    if (const auto key = head == nullptr ? std::nullopt : find_header(head->headers, name)) {
      return "key " + std::to_string(std::hash<std::string_view>()(*key));
    }
  }
  return peer_;
}

// False when there is nothing more for now, or for ever.
bool LoopConnection::receive() {
  std::array<char, kPiece> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const Channel::Outcome outcome = channel_->read(piece);
  if (outcome.status == Channel::Status::kDone) {
    in_.append(piece.data(), outcome.bytes);
    return true;
  }
  if (outcome.status == Channel::Status::kWantRead ||
      outcome.status == Channel::Status::kWantWrite) {
    wait(outcome.status);
  } else {
    end();
  }
  return false;
}

void LoopConnection::read_head() {
  while (!head_is_whole()) {
    if (in_.size() >= shared_.options.max_header_bytes) {
      refuse(
          {.status = 431, .error = "too_large", .message = "the request's headers are too large"});
      return;
    }
    const bool first = in_.empty();
    if (!receive()) {
      return;
    }
    if (first) {
      deadline_ = Clock::now() + shared_.options.header_patience;
    }
  }
  if (lacks_small_body()) {
    stage_ = Stage::kBody;
    deadline_ = Clock::now() + shared_.options.header_patience;
  }
  read_small_body();
}

// A body that is small is waited for here, where waiting costs no thread.
void LoopConnection::read_small_body() {
  while (lacks_small_body()) {
    if (!receive()) {
      return;
    }
  }
  if (shared_.draining) {
    refuse({.status = 503, .error = "unavailable", .message = "the server is shutting down"});
    return;
  }
  (void)ready_.release();  // While a handler reads, nobody else may be woken.
  stage_ = Stage::kWorking;
  owner_ = owner();
  ++shared_.working;
  if (!submit([connection = self()](auto waited) { connection->work(waited); })) {
    --shared_.working;
    stage_ = Stage::kHead;
    refuse({.status = 503, .error = "unavailable", .message = "too many requests are waiting"});
  }
}

void LoopConnection::refuse(const BadRequest& bad) {
  unsent_ = Unsent(reader_bounds(shared_.options));
  unsent_.outbox.add(refusal(bad));
  ends_when_sent_ = true;
  stage_ = Stage::kSending;
  waits_since_ = Clock::now();
  send_rest();
}

void LoopConnection::start_sending() {
  stage_ = Stage::kSending;
  waits_since_ = Clock::now();
  deadline_ = waits_since_ + unsent_.clock.left();
  wait(Channel::Status::kWantWrite);
}

// What is in memory goes out here; a file may have to be read first, so a handler sends a part of
// it each time the reader has room.
void LoopConnection::send_rest() {
  if (unsent_.outbox.needs_disk()) {
    (void)ready_.release();
    unsent_.clock.waited(Clock::now() - waits_since_);
    stage_ = Stage::kWorking;
    if (!submit([connection = self()](auto) { connection->send_file(); })) {
      end();
    }
    return;
  }
  sent(unsent_.outbox.flush(*channel_, 0));
}

void LoopConnection::sent(const Channel::Outcome& outcome) {
  const auto now = Clock::now();
  unsent_.clock.waited(now - waits_since_);
  unsent_.clock.took(outcome.bytes);
  waits_since_ = now;
  deadline_ = now + unsent_.clock.left();
  if (outcome.status == Channel::Status::kEnd || outcome.status == Channel::Status::kFailed) {
    end();
  } else if (unsent_.outbox.empty()) {
    next_stage();
  } else {
    wait(outcome.status == Channel::Status::kWantRead ? outcome.status
                                                      : Channel::Status::kWantWrite);
  }
}

// The answer is out: what comes next?
void LoopConnection::next_stage() {
  unsent_.share.reset();
  const bool within = !in_.empty();
  if (ends_when_sent_) {
    last_read();
  } else if (shared_.draining && !within) {
    end();
  } else {
    stage_ = Stage::kHead;
    deadline_ = Clock::now() + (within ? std::chrono::seconds(shared_.options.header_patience)
                                       : shared_.options.idle_patience);
    advance();
  }
}

void LoopConnection::last_read() {
  stage_ = Stage::kLastRead;
  in_ = {};
  deadline_ = Clock::now() + kEndPatience;
  channel_->end_writing();
  discard();
}

void LoopConnection::discard() {
  std::array<char, kPiece> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  // Some at a time: others wait for the loop, too.
  for (int i = 0; i < 16; ++i) {
    const ssize_t count = ::recv(channel_->fd(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (count == 0 || (count == -1 && errno != EAGAIN && errno != EINTR)) {
      end();
      return;
    }
    if (count == -1) {
      break;
    }
  }
  wait(Channel::Status::kWantRead);
}

void LoopConnection::end() {
  if (std::exchange(stage_, Stage::kEnded) == Stage::kEnded) {
    return;
  }
  (void)ready_.release();
  // An upgraded one lives on by itself.
  if (channel_) {
    cut();
  }
  shared_.ended(number_);
}

void LoopConnection::work(Clock::duration waited) {
  if (waited > kLongestWait) {
    --shared_.working;
    asio::post(*shared_.io, [connection = self()] {
      connection->refuse({.status = 503,
                          .error = "unavailable",
                          .message = "the server is too busy to handle the request"});
    });
    return;
  }
  while (true) {
    unsent_ = Unsent(reader_bounds(shared_.options));
    bool outside = false;
    const Exchange::Next next = answer(outside);
    --shared_.working;
    if (next == Exchange::Next::kWebSocket && !channel_) {
      return;
    }
    ends_when_sent_ = next != Exchange::Next::kRequest;
    if (next == Exchange::Next::kRelay) {
      asio::post(*shared_.io, [connection = self()] { connection->start_relay(); });
      return;
    }
    if (next == Exchange::Next::kPieces) {
      asio::post(*shared_.io, [connection = self()] { connection->start_pieces(); });
      return;
    }
    if (ends_when_sent_ || !unsent_.outbox.empty()) {
      give_back();
      return;
    }
    head_size_ = 0;
    searched_ = 0;
    if (shared_.draining || shared_.pool->is_short() ||
        (outside && !shared_.pool->step_back(owner_)) || !linger()) {
      give_back();
      return;
    }
    ++shared_.working;
  }
}

// Runs in a handler's thread, once the reader has room.
void LoopConnection::send_file() {
  const auto outcome = unsent_.outbox.flush(*channel_, kFileBurst);
  asio::post(*shared_.io, [connection = self(), outcome] {
    connection->stage_ = Stage::kSending;
    connection->waits_since_ = Clock::now();  // Until now, the wait was our own.
    connection->sent(outcome);
  });
}

void LoopConnection::start_relay() {
  http::start_relay(*shared_.io, *channel_, std::exchange(in_, {}), *std::exchange(relay_, {}),
                    shared_.options.idle_patience,
                    [connection = self()] { connection->last_read(); });
}

void LoopConnection::start_pieces() {
  head_size_ = 0;
  searched_ = 0;
  if (in_.size() <= kKept) {
    in_ = std::string(in_);
  }
  http::start_pieces(*shared_.io, *channel_, *std::exchange(pieces_, {}), shared_.capacity->unsent,
                     reader_bounds(shared_.options), [connection = self()](bool keep) {
                       connection->ends_when_sent_ = !keep;
                       connection->next_stage();
                     });
}

// Waits a moment for the next head. False if it does not come, or is the loop's to handle.
bool LoopConnection::linger() {
  while (!head_is_whole()) {
    if (in_.size() >= shared_.options.max_header_bytes) {
      return false;
    }
    if (!channel_->has_pending() && !await_request()) {
      return false;
    }
    const std::size_t held = in_.size();
    in_.resize(held + kPiece);
    const Channel::Outcome outcome = channel_->read(std::span(in_).subspan(held));
    in_.resize(held + (outcome.status == Channel::Status::kDone ? outcome.bytes : 0));
    if (outcome.status != Channel::Status::kDone) {
      return false;
    }
  }
  return !shared_.draining && !lacks_small_body();
}

// Waits for the first bytes of a request, or for more of them.
bool LoopConnection::await_request() {
  const std::size_t most = shared_.options.max_handlers / kHandlersForLingering;
  const bool longer = in_.empty() && shared_.lingering++ < most;
  const auto patience = longer ? shared_.options.linger : kLinger;
  const bool came = await(*channel_, Channel::Status::kWantRead, patience);
  shared_.lingering -= in_.empty() ? 1 : 0;
  return came;
}

Exchange::Next LoopConnection::answer(bool& outside) {
  auto parsed = parsed_ ? *std::exchange(parsed_, std::nullopt) : parse();
  in_.erase(0, head_size_);
  if (const auto* bad = std::get_if<BadRequest>(&parsed)) {
    unsent_.outbox.add(refusal(*bad));
    return Exchange::Next::kEnd;
  }
  Exchange exchange(
      {.channel = channel_,
       .in = in_,
       .unsent = unsent_,
       .peer = peer_,
       .over_unix_socket = over_unix_socket_,
       .last = shared_.draining,
       .body_waits = *shared_.body_waits,
       .capacity = *shared_.capacity,
       .body_patience = shared_.options.body_patience,
       .step_out = [this] { shared_.pool->step_out(); },
       .upgrade = [this](const Head& head,
                         std::string_view protocol) { return upgrade(head, protocol); }},
      std::move(std::get<Head>(parsed)));
  try {
    shared_.handler(exchange, exchange);
  } catch (const std::exception&) {
    // conclude() tells the client: by a 500, or an answer that breaks off.
  }
  const Exchange::Next next = exchange.conclude();
  outside = exchange.stepped_out();
  if (next == Exchange::Next::kRelay) {
    relay_ = exchange.take_relay();
  } else if (next == Exchange::Next::kPieces) {
    pieces_ = exchange.take_pieces();
  }
  return next;
}

Result<std::unique_ptr<WebSocket>> LoopConnection::upgrade(const Head& head,
                                                           std::string_view protocol) {
  // What holds this keeps the connection counted, and within reach of cut().
  std::shared_ptr<void> held(nullptr, [connection = self()](void*) {
    {
      const std::scoped_lock lock(connection->cut_mutex_);
      connection->descriptor_ = -1;
    }
    connection->shared_.ended(connection->number_);
  });
  return accept_websocket(*shared_.io, std::move(channel_), std::move(in_), head, protocol,
                          std::move(held));
}

void LoopConnection::give_back() {
  searched_ = 0;  // The loop must find a whole head again.
  if (in_.size() <= kKept && in_.capacity() > kKept) {
    in_ = std::string(in_);
  }
  asio::post(*shared_.io, [connection = self()] {
    if (connection->unsent_.outbox.empty()) {
      connection->next_stage();
    } else {
      connection->start_sending();
    }
  });
}

}  // namespace

std::shared_ptr<Connection> Connection::make(Shared& shared,
                                             std::uint64_t number,
                                             std::unique_ptr<Channel> channel,
                                             std::string peer,
                                             bool over_unix_socket) {
  return std::make_shared<LoopConnection>(shared, number, std::move(channel), std::move(peer),
                                          over_unix_socket);
}

}  // namespace glovebox::http
