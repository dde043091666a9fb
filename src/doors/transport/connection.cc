// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/connection.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>

#include "doors/transport/blocking.h"
#include "doors/transport/exchange.h"
#include "doors/transport/status.h"
#include "doors/transport/websocket.h"

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
// How long a handler's thread waits for the next request.
constexpr auto kLinger = 5ms;
// How long the peer has to read an answer that ends the connection: closing at once would reset it.
constexpr auto kEndPatience = 2s;
// A request that waited longer for a handler is not worth the work.
constexpr auto kLongestWait = 20s;

std::string refusal(const BadRequest& bad) {
  const std::string body = nlohmann::ordered_json{
      {"code", bad.status},
      {"error", bad.error},
      {"message", bad.message},
      {"hint", ""}}.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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
                 bool over_unix_socket)
      : shared_(shared),
        number_(number),
        channel_(std::move(channel)),
        descriptor_(channel_->fd()),
        over_unix_socket_(over_unix_socket),
        ready_(*shared.io) {}
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
      refuse({.status = 408, .error = "too_slow", .message = "the request did not come in time"});
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

  void cut() override {
    const std::scoped_lock lock(cut_mutex_);
    if (descriptor_ != -1) {
      (void)::shutdown(descriptor_, SHUT_RDWR);
    }
  }

 private:
  enum class Stage { kHandshake, kHead, kBody, kWorking, kLastRead, kEnded };
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
  void refuse(const BadRequest& bad);
  void last_read();
  void end();

  // Handler's thread.
  void work(Clock::duration waited);
  bool answer();
  bool linger();
  void give_back(Stage stage);
  Result<std::unique_ptr<WebSocket>> upgrade(const Head& head, std::string_view protocol);

  Shared& shared_;
  const std::uint64_t number_;
  std::unique_ptr<Channel> channel_;
  std::mutex cut_mutex_;
  int descriptor_;
  const bool over_unix_socket_;
  asio::posix::stream_descriptor ready_;
  Stage stage_ = Stage::kHandshake;
  Clock::time_point deadline_{};
  std::string in_;
  std::size_t searched_ = 0;
  std::size_t head_size_ = 0;                             // Once it is whole.
  std::optional<std::variant<Head, BadRequest>> parsed_;  // Where the loop had to read it.
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

// Not all is there of a body that is small and will come without being asked for.
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
    refuse({.status = 503, .error = "unavailable", .message = "the server is about to end"});
    return;
  }
  (void)ready_.release();  // While a handler reads, nobody else is to be woken.
  stage_ = Stage::kWorking;
  ++shared_.working;
  if (!shared_.pool->submit([connection = self()](auto waited) { connection->work(waited); })) {
    --shared_.working;
    stage_ = Stage::kHead;
    refuse({.status = 503, .error = "unavailable", .message = "too many requests are waiting"});
  }
}

// One try is enough: the answer fits any socket's buffer, unless the peer has not read others.
void LoopConnection::refuse(const BadRequest& bad) {
  const std::string answer = refusal(bad);
  const iovec piece{.iov_base = const_cast<char*>(answer.data()), .iov_len = answer.size()};
  (void)channel_->write({&piece, 1});
  last_read();
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
      connection->stage_ = Stage::kHead;
      connection->refuse(
          {.status = 503, .error = "unavailable", .message = "no handler became free in time"});
    });
    return;
  }
  while (true) {
    const bool keep = answer();
    --shared_.working;
    if (!channel_) {
      return;
    }
    if (!keep) {
      give_back(Stage::kLastRead);
      return;
    }
    head_size_ = 0;
    searched_ = 0;
    if (shared_.draining || shared_.pool->is_short() || !linger()) {
      give_back(Stage::kHead);
      return;
    }
    ++shared_.working;
  }
}

// The next head, when it is there soon.
bool LoopConnection::linger() {
  while (!head_is_whole()) {
    if (in_.size() >= shared_.options.max_header_bytes) {
      return false;
    }
    if (!channel_->has_pending() && !await(*channel_, Channel::Status::kWantRead, kLinger)) {
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

bool LoopConnection::answer() {
  auto parsed = parsed_ ? *std::exchange(parsed_, std::nullopt) : parse();
  in_.erase(0, head_size_);
  if (const auto* bad = std::get_if<BadRequest>(&parsed)) {
    const std::string answer = refusal(*bad);
    iovec piece{.iov_base = const_cast<char*>(answer.data()), .iov_len = answer.size()};
    (void)write_all(*channel_, {&piece, 1}, shared_.options.body_patience);
    return false;
  }
  Exchange exchange(
      {.channel = channel_,
       .in = in_,
       .over_unix_socket = over_unix_socket_,
       .last = shared_.draining,
       .body_waits = *shared_.body_waits,
       .body_patience = shared_.options.body_patience,
       .idle_patience = shared_.options.idle_patience,
       .upgrade = [this](const Head& head,
                         std::string_view protocol) { return upgrade(head, protocol); }},
      std::move(std::get<Head>(parsed)));
  try {
    shared_.handler(exchange, exchange);
  } catch (const std::exception&) {
    // Said by what conclude() answers: 500, or an answer that ends in its midst.
  }
  return exchange.conclude();
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

void LoopConnection::give_back(Stage stage) {
  searched_ = 0;  // A head that is whole is to be found again.
  if (in_.size() <= kKept && in_.capacity() > kKept) {
    in_ = std::string(in_);
  }
  asio::post(*shared_.io, [connection = self(), stage] {
    connection->stage_ = stage;
    const bool within = stage == Stage::kHead && !connection->in_.empty();
    connection->deadline_ =
        Clock::now() + (within ? std::chrono::seconds(connection->shared_.options.header_patience)
                               : connection->shared_.options.idle_patience);
    if (stage == Stage::kLastRead) {
      connection->last_read();
    } else if (connection->shared_.draining && !within) {
      connection->end();
    } else {
      connection->advance();
    }
  });
}

}  // namespace

std::shared_ptr<Connection> Connection::make(Shared& shared,
                                             std::uint64_t number,
                                             std::unique_ptr<Channel> channel,
                                             bool over_unix_socket) {
  return std::make_shared<LoopConnection>(shared, number, std::move(channel), over_unix_socket);
}

}  // namespace glovebox::http
