// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/client.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <thread>
#include <utility>

#include "doors/transport/blocking.h"
#include "doors/transport/connect.h"
#include "doors/transport/status.h"
#include "doors/transport/websocket.h"

namespace glovebox::http {
namespace {

constexpr std::size_t kMostHead = 64UL * 1024;
constexpr std::size_t kPiece = 64UL * 1024;
// An answer of 100 or 103 says nothing yet (RFC 9110, 15.2).
constexpr int kMostInterim = 8;

Error broken() {
  return {ErrorCode::kUnavailable, "lost the connection to the daemon",
          "check that it is still running; the operation may still be in progress there"};
}
Error silent() {
  return {ErrorCode::kUnavailable, "the daemon does not respond", "check its log, and try again"};
}

Result<void> write_text(Channel& channel,
                        std::string_view text,
                        std::chrono::milliseconds patience) {
  iovec piece{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  ReaderClock clock({.silence = patience, .grace = std::chrono::hours(24), .least_rate = 1});
  if (!write_all(channel, std::span(&piece, 1), clock)) {
    return broken();
  }
  return {};
}

// Whether the server says something now, or has gone. Under TLS a descriptor may be readable
// without either, so this reads.
bool takes_early(Channel& channel, std::string& in) {
  std::array<char, 4096> piece{};
  const Channel::Outcome outcome = channel.read(piece);
  in.append(piece.data(), outcome.status == Channel::Status::kDone ? outcome.bytes : 0);
  return outcome.status != Channel::Status::kWantRead &&
         outcome.status != Channel::Status::kWantWrite;
}

// A WebSocket with the thread that works for it.
class OwnLoopWebSocket final : public WebSocket {
 public:
  OwnLoopWebSocket()
      : io_(std::make_unique<boost::asio::io_context>(1)),
        work_(io_->get_executor()),
        thread_([io = io_.get()] { io->run(); }) {}
  OwnLoopWebSocket(const OwnLoopWebSocket&) = delete;
  OwnLoopWebSocket& operator=(const OwnLoopWebSocket&) = delete;
  ~OwnLoopWebSocket() override {
    inner_.reset();
    // After what the loop has begun: a close frame goes out, and nobody waits for its answer.
    boost::asio::post(*io_, [io = io_.get()] { io->stop(); });
    thread_.join();
  }

  Result<void> open(std::unique_ptr<Channel> channel,
                    std::string_view host,
                    std::string_view target,
                    const Headers& headers) {
    inner_ = GB_TRY(connect_websocket(*io_, std::move(channel), host, target, headers));
    return {};
  }

  Result<std::optional<Message>> read() override { return inner_->read(); }
  Result<void> write(bool binary, std::string_view payload) override {
    return inner_->write(binary, payload);
  }
  void close(std::uint16_t code, std::string_view reason) override { inner_->close(code, reason); }

 private:
  std::unique_ptr<boost::asio::io_context> io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
  std::unique_ptr<WebSocket> inner_;
};

}  // namespace

// The connection that waits for the next request.
struct Client::Kept {
  std::unique_ptr<Channel> channel;
};

ClientAnswer::ClientAnswer(Head head,
                           int status,
                           std::unique_ptr<Channel> channel,
                           std::string rest)
    : head_(std::move(head)),
      status_(status),
      body_(head_),
      channel_(std::move(channel)),
      in_(std::move(rest)) {}

ClientAnswer::~ClientAnswer() {
  if (body_.done() && in_.empty() && ahead_.empty() && head_.keep_alive && channel_ && give_back_) {
    give_back_(std::move(channel_));
  }
}

std::optional<std::string_view> ClientAnswer::header(std::string_view name) const {
  return find_header(head_.headers, name);
}

Result<bool> ClientAnswer::fill() {
  std::array<char, kPiece> piece{};
  auto count = read_some(*channel_, piece, patience_);
  if (!count) {
    return silent();
  }
  if (*count == 0) {
    return broken();
  }
  in_.append(piece.data(), *count);
  return true;
}

Result<std::size_t> ClientAnswer::read(std::span<char> into) {
  if (!ahead_.empty()) {
    const std::size_t count = ahead_.copy(into.data(), into.size());
    ahead_.erase(0, count);
    return count;
  }
  while (!body_.done()) {
    const BodyDecoder::Step step = GB_TRY(body_.decode(in_, into));
    in_.erase(0, step.consumed);
    if (step.produced > 0) {
      return step.produced;
    }
    if (!body_.done() && step.consumed == 0) {
      (void)GB_TRY(fill());
    }
  }
  return std::size_t{0};
}

Result<std::string> ClientAnswer::read_all(std::size_t most) {
  std::string text;
  std::string piece(kPiece, '\0');
  while (true) {
    const std::size_t count = GB_TRY(read(piece));
    if (count == 0) {
      return text;
    }
    if (text.size() + count > most) {
      return Error(ErrorCode::kExhausted, "the daemon's response is too large");
    }
    text.append(piece, 0, count);
  }
}

ClientAnswer::Ready ClientAnswer::await(int other, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::array<char, kPiece> piece{};
  while (ahead_.empty() && !body_.done()) {
    // What has come may be framing alone, so only its decoder tells whether there is something.
    const auto step = body_.decode(in_, piece);
    if (!step) {
      return Ready::kBody;  // read() says what is wrong.
    }
    in_.erase(0, step->consumed);
    ahead_.assign(piece.data(), step->produced);
    if (step->produced > 0 || step->consumed > 0) {
      continue;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    std::array<pollfd, 2> watched{{{.fd = channel_->fd(), .events = POLLIN, .revents = 0},
                                   {.fd = other, .events = POLLIN, .revents = 0}}};
    const int timeout =
        channel_->has_pending() ? 0 : static_cast<int>(std::max<long>(left.count(), 0));
    const int ready = ::poll(watched.data(), watched.size(), timeout);
    if (watched[1].revents != 0) {
      return Ready::kOther;
    }
    if (ready <= 0 && !channel_->has_pending()) {
      return Ready::kNothing;
    }
    const Channel::Outcome outcome = channel_->read(piece);
    if (outcome.status == Channel::Status::kDone) {
      in_.append(piece.data(), outcome.bytes);
    } else if (outcome.status != Channel::Status::kWantRead &&
               outcome.status != Channel::Status::kWantWrite) {
      return Ready::kBody;
    }
  }
  return Ready::kBody;
}

Client::Client(ClientOptions options)
    : options_(std::move(options)), kept_(std::make_shared<Kept>()) {}

Client::~Client() = default;

Result<std::unique_ptr<Channel>> Client::connect() {
  return connect_channel(options_.server, options_.authorities, options_.connect_patience);
}

std::string Client::head_of(std::string_view method,
                            std::string_view target,
                            const Headers& headers) const {
  std::string head(method);
  head.append(" ").append(target).append(" HTTP/1.1\r\nHost: ");
  head += options_.server.authority() + "\r\n";
  if (!options_.key.empty()) {
    head += "X-API-KEY: " + options_.key + "\r\n";
  }
  for (const auto& [name, value] : headers) {
    head.append(name).append(": ").append(value).append("\r\n");
  }
  return head;
}

Result<std::unique_ptr<ClientAnswer>> Client::read_answer(std::unique_ptr<Channel> channel,
                                                          std::string in,
                                                          bool without_body) {
  std::array<char, 16UL * 1024> piece{};
  for (int interim = 0; interim < kMostInterim;) {
    std::size_t searched = 0;
    std::optional<std::size_t> end;
    while (!(end = end_of_head(in, searched))) {
      if (in.size() > kMostHead) {
        return Error(ErrorCode::kInvalid, "the head of the daemon's response is too large");
      }
      auto count = read_some(*channel, piece, options_.patience);
      if (!count) {
        return silent();
      }
      if (*count == 0) {
        return broken();
      }
      in.append(piece.data(), *count);
    }
    AnswerHead answer = GB_TRY(parse_answer_head(std::string_view(in).substr(0, *end)));
    in.erase(0, *end);
    if (answer.status < 200) {
      ++interim;
      continue;
    }
    if (without_body || answer.status == 204 || answer.status == 304) {
      answer.head.chunked = false;
      answer.head.content_length = 0;
    } else if (!answer.head.chunked && !answer.head.content_length) {
      return Error(ErrorCode::kInvalid, "the response has no length",
                   "check that the address belongs to a glovebox daemon");
    }
    auto made = std::make_unique<ClientAnswer>(std::move(answer.head), answer.status,
                                               std::move(channel), std::move(in));
    made->patience_ = options_.patience;
    made->give_back_ = [kept = std::weak_ptr<Kept>(kept_)](std::unique_ptr<Channel> free) {
      if (const auto here = kept.lock()) {
        here->channel = std::move(free);
      }
    };
    return made;
  }
  return Error(ErrorCode::kInvalid, "the daemon sent no final response");
}

Result<std::unique_ptr<ClientAnswer>> Client::send(std::string_view method,
                                                   std::string_view target,
                                                   const Headers& headers,
                                                   std::string_view body) {
  std::string text = head_of(method, target, headers);
  if (!body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  text.append("\r\n").append(body);
  std::unique_ptr<Channel> channel = std::move(kept_->channel);
  std::string in;
  // The server may have closed a kept connection meanwhile; nothing else can have come on it.
  if (!channel || takes_early(*channel, in)) {
    channel = GB_TRY(connect());
    in.clear();
  }
  // A server that refuses early has answered all the same.
  if (!write_text(*channel, text, options_.patience) && !takes_early(*channel, in)) {
    return broken();
  }
  return read_answer(std::move(channel), std::move(in), method == "HEAD");
}

Result<std::unique_ptr<ClientAnswer>> Client::send_stream(std::string_view method,
                                                          std::string_view target,
                                                          const Headers& headers,
                                                          const BodySource& body) {
  std::unique_ptr<Channel> channel = GB_TRY(connect());
  const std::string head = head_of(method, target, headers) + "Transfer-Encoding: chunked\r\n\r\n";
  GB_TRY(write_text(*channel, head, options_.patience));
  std::string piece(kPiece, '\0');
  std::string in;
  while (!takes_early(*channel, in)) {
    const std::size_t count = GB_TRY(body(piece));
    // "0" ends the body (RFC 9112, 7.1).
    std::string chunk = count == 0 ? "0\r\n" : chunk_size(count);
    chunk.append(piece, 0, count).append("\r\n");
    if (!write_text(*channel, chunk, options_.patience) && !takes_early(*channel, in)) {
      return broken();
    }
    if (count == 0) {
      break;
    }
  }
  return read_answer(std::move(channel), std::move(in), false);
}

Result<std::unique_ptr<WebSocket>> Client::open_websocket(std::string_view target) {
  Headers headers;
  if (!options_.key.empty()) {
    headers.emplace_back("X-API-KEY", options_.key);
  }
  auto socket = std::make_unique<OwnLoopWebSocket>();
  auto channel = GB_TRY(connect());
  GB_TRY(socket->open(std::move(channel), options_.server.authority(), target, headers));
  return std::unique_ptr<WebSocket>(std::move(socket));
}

}  // namespace glovebox::http
