// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "doors/transport/status.h"
#include "doors/transport/waiting.h"

namespace glovebox::http {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBuffer = 64 * 1024;
constexpr std::size_t kPiece = 16 * 1024;
// How long the peer may continue after the client has ended.
constexpr std::chrono::milliseconds kLastWords{10'000};
constexpr std::chrono::seconds kLook{1};
// Pieces moved before others in the loop have their turn.
constexpr int kAtOnce = 16;

constexpr std::string_view kBadGateway =
    "HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\nContent-Length: 126\r\n"
    "Connection: close\r\n\r\n";
constexpr std::string_view kBadGatewayBody =
    R"({"code":502,"error":"unavailable","message":"the server on this port does not speak HTTP","hint":"serve HTTP/1.1 on the port"})";

// Of the connection with the peer (RFC 9110, 7.6.1), and not for the client.
bool is_hop_header(std::string_view name, const Headers& headers) {
  return equal_names(name, "connection") || equal_names(name, "keep-alive") ||
         equal_names(name, "proxy-connection") || equal_names(name, "upgrade") ||
         (has_token(headers, "connection", name) && !equal_names(name, "content-length"));
}

// The peer's answer as it goes to the client: read as strictly as a request of a client, and
// written anew, so that proxies between us and the client read it as we did. kInvalid if it can be
// read in two ways.
struct PeerAnswer {
  int status = 0;
  std::string head;
};
Result<PeerAnswer> read_answer(std::string head) {
  constexpr std::string_view kOld = "HTTP/1.0 ";
  const bool old = head.starts_with(kOld);
  if (old) {
    head.replace(0, kOld.size(), "HTTP/1.1 ");
  }
  const AnswerHead answer = GB_TRY(parse_answer_head(head));
  if (answer.status < 100 || answer.status > 599 || (old && answer.head.chunked)) {
    return Error(ErrorCode::kInvalid, "an invalid HTTP response");
  }
  PeerAnswer told{.status = answer.status, .head = {}};
  told.head = "HTTP/1.1 " + std::to_string(answer.status) + " " +
              std::string(reason_phrase(answer.status)) + "\r\n";
  for (const auto& [name, value] : answer.head.headers) {
    if (!is_hop_header(name, answer.head.headers)) {
      told.head += name + ": " + value + "\r\n";
    }
  }
  told.head += answer.head.chunked ? "Transfer-Encoding: chunked\r\n" : "";
  if (answer.status == 101) {
    told.head += "Connection: Upgrade\r\nUpgrade: " +
                 std::string(find_header(answer.head.headers, "upgrade").value_or("")) + "\r\n\r\n";
  } else {
    told.head += "Connection: close\r\n\r\n";
  }
  return told;
}

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  Relay(asio::io_context& io,
        Channel& client,
        std::string in,
        RelayOrder order,
        std::chrono::milliseconds patience,
        std::function<void()> ended);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void turn();
  void look();

 private:
  enum class Mode { kHead, kAnswer, kTunnel };
  bool move_some();
  void end();
  void refuse();
  void take_from_client();
  bool read_client();
  bool read_peer();
  bool write_client();
  bool write_peer();
  void head_from_peer();
  // The request is whole, and nothing else is wanted from the client.
  [[nodiscard]] bool has_enough() const { return mode_ != Mode::kTunnel && body_ended_; }
  [[nodiscard]] bool wants_client() const {
    return !client_ended_ && !has_enough() && to_peer_.size() < kBuffer;
  }
  [[nodiscard]] bool wants_peer() const { return !peer_ended_ && to_client_.size() < kBuffer; }
  [[nodiscard]] bool is_over() const { return failed_ || (peer_ended_ && to_client_.empty()); }

  Channel& client_;
  std::string in_;
  const Head head_;
  BodyDecoder body_;
  UniqueFd peer_;
  const FairShares::Share link_;
  const std::chrono::milliseconds patience_;
  std::function<void()> ended_;
  Waiting client_side_;
  Waiting peer_side_;
  asio::steady_timer timer_;
  Clock::time_point last_move_ = Clock::now();
  Mode mode_ = Mode::kHead;
  std::string to_peer_;
  std::string to_client_;
  std::string answer_;  // The peer's head, until it is whole.
  std::size_t searched_ = 0;
  bool client_ended_ = false;
  bool client_is_ahead_ = false;  // It has sent something that nobody wants.
  bool peer_ended_ = false;
  bool body_ended_ = false;
  bool told_peer_ = false;
  bool failed_ = false;
  bool bad_answer_ = false;
};

Relay::Relay(asio::io_context& io,
             Channel& client,
             std::string in,
             RelayOrder order,
             std::chrono::milliseconds patience,
             std::function<void()> ended)
    : client_(client),
      in_(std::move(in)),
      head_(std::move(order.head)),
      body_(head_),
      peer_(std::move(order.peer)),
      link_(std::move(order.link)),
      patience_(patience),
      ended_(std::move(ended)),
      client_side_(io),
      peer_side_(io),
      timer_(io),
      to_peer_(std::move(order.first)),
      body_ended_(body_.done()) {
  (void)::fcntl(peer_.get(), F_SETFL, ::fcntl(peer_.get(), F_GETFL) | O_NONBLOCK);
  failed_ = !client_side_.assign(client_.fd()) || !peer_side_.assign(peer_.get());
  take_from_client();
}

Relay::~Relay() {
  // Before it is closed; not later than with the loop, when the server ends.
  peer_side_.release();
  // A guest may have made the socket, and closing it can wait for the guest (SO_LINGER, socket(7)):
  // that is for a thread that nobody waits for.
  const int fd = peer_.release();
  try {
    std::thread([fd] { UniqueFd last(fd); }).detach();
  } catch (const std::system_error&) {
    UniqueFd last(fd);
  }
}

void Relay::end() {
  if (!ended_) {
    return;
  }
  timer_.cancel();
  client_side_.release();
  peer_side_.release();
  std::exchange(ended_, nullptr)();
}

void Relay::refuse() {
  bad_answer_ = false;
  peer_ended_ = true;
  mode_ = Mode::kAnswer;
  to_client_ = std::string(kBadGateway) + std::string(kBadGatewayBody);
}

// Does what can be done, and waits for more.
void Relay::turn() {
  if (!ended_) {
    return;
  }
  int moves = 0;
  while (moves < kAtOnce && !is_over() && move_some()) {
    ++moves;
    last_move_ = Clock::now();
  }
  if (is_over()) {
    end();
    return;
  }
  if (moves == kAtOnce) {
    asio::post(timer_.get_executor(), [relay = shared_from_this()] { relay->turn(); });
    return;
  }
  // Even if nothing more is wanted from the client, its end shows there.
  const bool awaits_end = has_enough() && !client_ended_ && !client_is_ahead_;
  client_side_.await(shared_from_this(), wants_client() || awaits_end, !to_client_.empty());
  peer_side_.await(shared_from_this(), wants_peer(), !to_peer_.empty());
}

// False when nothing can be moved now.
bool Relay::move_some() {
  bool moved = false;
  if (!to_client_.empty()) {
    moved = write_client() || moved;
  }
  if (wants_client()) {
    moved = read_client() || moved;
  }
  if (!to_peer_.empty()) {
    moved = write_peer() || moved;
    take_from_client();
  }
  if (wants_peer()) {
    moved = read_peer() || moved;
  }
  if (bad_answer_) {
    refuse();
    moved = true;
  }
  if (client_ended_ && mode_ == Mode::kTunnel && to_peer_.empty() && !told_peer_) {
    told_peer_ = true;
    (void)::shutdown(peer_.get(), SHUT_WR);
  }
  if (!client_ended_ && has_enough()) {
    pollfd end{.fd = client_.fd(), .events = POLLIN | POLLRDHUP, .revents = 0};
    (void)::poll(&end, 1, 0);
    client_ended_ = (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    failed_ = failed_ || (end.revents & POLLERR) != 0;
    client_is_ahead_ = end.revents == POLLIN;
  }
  return moved;
}

// Ends a relay that has not moved for too long, and notices what no event has reported.
void Relay::look() {
  timer_.expires_after(kLook);
  timer_.async_wait([relay = shared_from_this()](const boost::system::error_code& error) {
    if (error || !relay->ended_) {
      return;
    }
    const auto patience =
        relay->client_ended_ ? std::min(relay->patience_, kLastWords) : relay->patience_;
    if (Clock::now() - relay->last_move_ >= patience) {
      relay->end();
      return;
    }
    relay->client_is_ahead_ = false;
    relay->turn();
    relay->look();
  });
}

// What of in_ may go to the peer.
void Relay::take_from_client() {
  if (mode_ == Mode::kTunnel) {
    to_peer_ += in_;
    in_.clear();
    return;
  }
  std::array<char, 16 * 1024> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (!body_ended_ && to_peer_.size() < kBuffer) {
    auto step = body_.decode(in_, piece);
    if (!step) {
      failed_ = true;
      return;
    }
    in_.erase(0, step->consumed);
    if (step->produced > 0) {
      const std::string_view bytes(piece.data(), step->produced);
      to_peer_ += head_.chunked ? chunk_size(bytes.size()) : "";
      to_peer_ += bytes;
      to_peer_ += head_.chunked ? "\r\n" : "";
    }
    body_ended_ = body_.done();
    if (body_ended_ && head_.chunked) {
      to_peer_ += "0\r\n\r\n";
    }
    if (step->consumed == 0 && step->produced == 0) {
      failed_ = failed_ || in_.size() >= kBuffer;
      return;
    }
  }
}

bool Relay::read_client() {
  const std::size_t held = in_.size();
  in_.resize(held + kPiece);
  const Channel::Outcome outcome = client_.read(std::span(in_).subspan(held));
  const bool some = outcome.status == Channel::Status::kDone;
  in_.resize(held + (some ? outcome.bytes : 0));
  client_ended_ = client_ended_ || outcome.status == Channel::Status::kEnd;
  failed_ = failed_ || outcome.status == Channel::Status::kFailed;
  take_from_client();
  return some || outcome.status == Channel::Status::kEnd;
}

bool Relay::read_peer() {
  std::string& into = mode_ == Mode::kHead ? answer_ : to_client_;
  const std::size_t held = into.size();
  into.resize(held + kPiece);
  const ssize_t count = ::recv(peer_.get(), into.data() + held, kPiece, 0);
  into.resize(held + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count == -1 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  peer_ended_ = count <= 0;
  while (mode_ == Mode::kHead && !bad_answer_ && !answer_.empty()) {
    const std::size_t before = answer_.size();
    head_from_peer();
    if (answer_.size() == before) {
      break;
    }
  }
  bad_answer_ = bad_answer_ || (peer_ended_ && mode_ == Mode::kHead);
  return true;
}

void Relay::head_from_peer() {
  const auto end = end_of_head(answer_, searched_);
  if (!end) {
    bad_answer_ = answer_.size() > kBuffer;
    return;
  }
  const auto answer = read_answer(answer_.substr(0, *end));
  answer_.erase(0, *end);
  searched_ = 0;
  if (!answer) {
    bad_answer_ = true;
    return;
  }
  if (answer->status == 101 && head_.upgrade) {
    mode_ = Mode::kTunnel;
    to_client_ += answer->head + answer_;
    take_from_client();
  } else if (answer->status < 200) {
    // Ours was sent already, and others mean nothing to a client that asked us.
    return;
  } else {
    mode_ = Mode::kAnswer;
    to_client_ += answer->head + answer_;
  }
  answer_.clear();
}

bool Relay::write_client() {
  const iovec piece{.iov_base = to_client_.data(), .iov_len = to_client_.size()};
  const Channel::Outcome outcome = client_.write({&piece, 1});
  const bool some = outcome.status == Channel::Status::kDone;
  to_client_.erase(0, some ? outcome.bytes : 0);
  failed_ = failed_ || outcome.status == Channel::Status::kFailed;
  return some;
}

bool Relay::write_peer() {
  const ssize_t count = ::send(peer_.get(), to_peer_.data(), to_peer_.size(), MSG_NOSIGNAL);
  if (count > 0) {
    to_peer_.erase(0, static_cast<std::size_t>(count));
  } else if (count == -1 && errno != EAGAIN && errno != EINTR) {
    // It may have answered before it stopped listening.
    to_peer_.clear();
    body_ended_ = true;
  }
  return count > 0;
}

}  // namespace

void start_relay(asio::io_context& io,
                 Channel& channel,
                 std::string in,
                 RelayOrder order,
                 std::chrono::milliseconds patience,
                 std::function<void()> ended) {
  const auto relay = std::make_shared<Relay>(io, channel, std::move(in), std::move(order), patience,
                                             std::move(ended));
  relay->look();
  relay->turn();
}

}  // namespace glovebox::http
