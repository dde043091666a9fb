// SPDX-License-Identifier: Apache-2.0
#include "egress/inspection.h"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>
#include <vector>

#include "base/text.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kPiece = 16UL * 1024;
constexpr std::size_t kMostHead = 256UL * 1024;  // Bytes of an answer's head.
constexpr std::size_t kLastWords = 256UL * 1024;

bool equal(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

// Makes the parser accept the head of an HTTP/1.0 answer: such servers are old, not wrong.
Result<http::AnswerHead> parse_answer(std::string head) {
  constexpr std::string_view kOld = "HTTP/1.0 ";
  const bool old = head.starts_with(kOld);
  if (old) {
    head[kOld.size() - 2] = '1';
  }
  http::AnswerHead answer = GB_TRY(http::parse_answer_head(head));
  if (old) {
    if (answer.head.chunked) {
      return Error(ErrorCode::kInvalid, "chunks in an answer of HTTP/1.0");
    }
    answer.head.keep_alive = false;
  }
  return answer;
}

}  // namespace

Inspection::Inspection(std::shared_ptr<Session> session,
                       const CredentialFiller& filler,
                       Place place,
                       End guest,
                       End server,
                       Tape* tape)
    : session_(std::move(session)),
      filler_(filler),
      place_(std::move(place)),
      tape_(tape),
      guest_(session_->guest(), std::move(guest.ssl), guest.sent),
      server_(session_->server(), std::move(server.ssl), server.sent),
      answered_(session_->guest().get_executor()) {
  answered_.expires_at(asio::steady_timer::time_point::max());
}

asio::awaitable<void> Inspection::run(std::shared_ptr<Inspection> self) {
  Inspection& here = *self;
  // The server first, so that the guest is promised nothing that the server does not keep. If it
  // fails, the guest's handshake is still needed: its programs show the reason only within TLS.
  here.session_->await_head();
  const bool genuine = co_await here.server_.handshake();
  const bool met = co_await here.guest_.handshake();
  here.session_->moved();
  if (!genuine || !met) {
    here.session_->record().verdict = ConnectionRecord::Verdict::kFailed;
    here.session_->record().reason = genuine
                                         ? "the guest: " + here.guest_.failure()
                                         : here.place_.to_text() + ": " + here.server_.failure();
  }
  if (!met) {
    here.session_->cut();
    co_return;
  }
  if (!genuine) {
    const bool asked = co_await here.read_guest();
    if (asked) {
      co_await here.refuse(502, here.session_->record().reason);
    }
    here.session_->cut();
    co_return;
  }
  asio::co_spawn(here.session_->guest().get_executor(), carry_answers(self), asio::detached);
  co_await here.carry_requests();
}

asio::awaitable<void> Inspection::carry_requests() {
  for (bool more = true; more;) {
    more = co_await carry_request();
  }
  if (!raw_) {
    if (!over_) {
      co_await guest_.finish();
    }
    end();
    co_return;
  }
  // Whatever guest and server now say to each other; the secret was in the request before it.
  for (bool more = true; more;) {
    if (!in_.empty()) {
      more = co_await to_server(std::exchange(in_, {}));
    } else {
      more = co_await read_guest();
    }
  }
  co_await server_.finish();
  if (!over_ && !guest_.ended()) {
    end();
  }
}

// False if no further request should be read.
asio::awaitable<bool> Inspection::carry_request() {
  std::size_t searched = 0;
  std::optional<std::size_t> end_of_head;
  while (!(end_of_head = http::end_of_head(in_, searched))) {
    if (in_.size() >= session_->bounds().head) {
      co_await refuse(431, "the request's head is too long");
      co_return false;
    }
    if (!in_.empty()) {
      session_->await_head();
    }
    const bool more = co_await read_guest();
    if (!more) {
      co_return false;
    }
  }
  session_->moved();
  auto parsed =
      parse_request_at(place_, std::string_view(in_).substr(0, *end_of_head), /*secure=*/true);
  if (const auto* const wrong = std::get_if<http::BadRequest>(&parsed)) {
    co_await refuse(wrong->status, wrong->message);
    co_return false;
  }
  in_.erase(0, *end_of_head);
  auto request = std::get<Request>(std::move(parsed));
  http::Head& head = request.head;
  const auto protocol = http::find_header(head.headers, "upgrade");
  const bool has_body = head.chunked || head.content_length.value_or(0) > 0;
  head.upgrade = head.upgrade && !has_body && protocol && equal(*protocol, "websocket");
  if (tape_ != nullptr) {
    taped_ = std::make_unique<TapedExchange>(*tape_, &filler_, place_, /*secure=*/true, head);
  }
  const auto filled = filler_.fill(head, place_, /*secure=*/true);
  if (!filled) {
    co_await refuse(431, filled.error().message());
    co_return false;
  }
  // Counts as sent as soon as its last bytes are handed over: the answer may come before we hear
  // that they have gone.
  exchange_ =
      Exchange{.head_only = head.method == "HEAD", .upgrade = head.upgrade, .sent = !has_body};
  sending_ = true;
  if (taped_ && !has_body) {
    taped_->asked();
  }
  bool sent = co_await to_server(kept_head(request));
  if (sent) {
    sent = co_await send_body(request);
  }
  sending_ = false;
  if (!sent) {
    co_await drain();
    co_return false;
  }
  const bool answered = co_await await_answer();
  co_return answered&& head.keep_alive && !raw_;
}

asio::awaitable<bool> Inspection::send_body(const Request& request) {
  http::BodyDecoder body(request.head);
  std::vector<char> block(kPiece);
  while (!body.done()) {
    const auto step = body.decode(in_, block);
    if (!step) {
      session_->record().reason = step.error().message();
      co_return false;
    }
    in_.erase(0, step->consumed);
    if (taped_) {
      taped_->sent({block.data(), step->produced});
    }
    if (exchange_ && body.done()) {
      exchange_->sent = true;
    }
    if (taped_ && body.done()) {
      taped_->asked();
    }
    bool more = true;
    if (step->produced > 0) {
      more = co_await to_server(frame_piece(request, {block.data(), step->produced}));
    } else if (step->consumed == 0) {
      more = co_await read_guest();
    }
    if (!more) {
      co_return false;
    }
  }
  if (request.head.chunked) {
    co_return co_await to_server(frame_piece(request, {}));
  }
  co_return true;
}

// A server may answer before it has the whole request, and end the connection. What the guest still
// sends is read and discarded, so that it sees the answer.
asio::awaitable<void> Inspection::drain() {
  if (guest_gone_) {
    co_return;
  }
  (void)co_await await_answer();
  for (std::size_t read = 0; read < kLastWords;) {
    in_.clear();
    const bool more = co_await read_guest();
    if (!more) {
      co_return;
    }
    read += in_.size();
  }
}

asio::awaitable<bool> Inspection::await_answer() {
  while (exchange_ && !over_ && !raw_) {
    error_code woken;
    co_await answered_.async_wait(with(woken));
  }
  co_return !over_;
}

asio::awaitable<void> Inspection::carry_answers(std::shared_ptr<Inspection> self) {
  for (bool more = true; more;) {
    more = co_await self->carry_answer();
  }
  if (self->raw_) {
    for (bool more = true; more;) {
      more = co_await self->pass_rest();
    }
  }
  error_code ignored;
  if (self->server_.ended() || !self->exchange_) {
    co_await self->guest_.finish();
  } else {
    // Half an answer must not look whole, and a guest that is still sending must not wait for the
    // rest of it.
    self->session_->guest().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }
  self->over_ = true;
  self->answered_.cancel();
  if (self->sending_) {
    self->session_->server().close(ignored);
  } else {
    self->end();
  }
}

// False if no further answer comes.
asio::awaitable<bool> Inspection::carry_answer() {
  std::size_t searched = 0;
  std::optional<std::size_t> end_of_head;
  while (!(end_of_head = http::end_of_head(early_, searched))) {
    bool more = early_.size() < kMostHead;
    if (more) {
      more = co_await read_server();
    }
    if (!more) {
      co_return false;
    }
  }
  if (!exchange_) {
    session_->record().reason = "the server sent an answer that nothing asked for";
    co_return false;
  }
  auto answer = parse_answer(early_.substr(0, *end_of_head));
  if (!answer) {
    session_->record().reason = answer.error().message();
    co_return false;
  }
  std::string head = early_.substr(0, *end_of_head);
  early_.erase(0, *end_of_head);
  const bool interim = answer->status < 200;
  const bool switched = answer->status == 101;
  if (switched && !exchange_->upgrade) {
    session_->record().reason = "the server changed the protocol, which nothing asked for";
    co_return false;
  }
  const bool keeps = answer->head.keep_alive && (exchange_->sent || interim);
  if (!keeps && !interim && answer->head.keep_alive) {
    // The guest may still be sending a body that nobody reads any more.
    head.insert(head.size() - 2, "Connection: close\r\n");
  }
  taping_ = !interim && !switched;
  const bool passed = co_await to_guest(std::move(head));
  if (!passed) {
    co_return false;
  }
  if (switched) {
    raw_ = true;
    answered_.cancel();
    co_return false;
  }
  if (interim) {
    co_return true;
  }
  const bool whole = co_await pass_body(*answer);
  if (!whole) {
    tape_end(exchange_ ? RecordedExchange::End::kCut : RecordedExchange::End::kClosed);
    co_return false;
  }
  const bool sent = exchange_->sent;
  tape_end(keeps && sent ? RecordedExchange::End::kKept : RecordedExchange::End::kClosed);
  exchange_.reset();
  answered_.cancel();
  co_return keeps&& sent;
}

// The bytes as they come, while the framing shows where they end.
asio::awaitable<bool> Inspection::pass_body(const http::AnswerHead& answer) {
  if (exchange_->head_only || answer.status == 204 || answer.status == 304) {
    co_return true;
  }
  if (!answer.head.chunked && !answer.head.content_length) {
    for (bool more = true; more;) {
      more = co_await pass_rest();
    }
    if (server_.ended()) {
      exchange_.reset();
    }
    co_return false;  // The body ended with the connection.
  }
  http::BodyDecoder body(answer.head);
  std::vector<char> ignored(kPiece);
  while (!body.done()) {
    std::string piece;
    while (!body.done() && piece.size() < early_.size()) {
      const auto step = body.decode(std::string_view(early_).substr(piece.size()), ignored);
      if (!step) {
        session_->record().reason = step.error().message();
        co_return false;
      }
      if (step->consumed == 0) {
        break;
      }
      piece.append(early_, piece.size(), step->consumed);
    }
    early_.erase(0, piece.size());
    bool more = true;
    if (!piece.empty()) {
      more = co_await to_guest(std::move(piece));
    } else if (!body.done()) {
      more = co_await read_server();
    }
    if (!more) {
      co_return false;
    }
  }
  co_return true;
}

asio::awaitable<bool> Inspection::pass_rest() {
  if (early_.empty()) {
    const bool more = co_await read_server();
    if (!more) {
      co_return false;
    }
  }
  co_return co_await to_guest(std::exchange(early_, {}));
}

asio::awaitable<bool> Inspection::read_guest() {
  std::array<char, kPiece> block{};
  const std::size_t got = co_await guest_.read(block);
  in_.append(block.data(), got);
  session_->moved();
  guest_gone_ = got == 0;
  co_return got > 0;
}

asio::awaitable<bool> Inspection::read_server() {
  std::array<char, kPiece> block{};
  const std::size_t got = co_await server_.read(block);
  early_.append(block.data(), got);
  session_->moved();
  co_return got > 0;
}

asio::awaitable<bool> Inspection::to_server(std::string bytes) {
  bool sent = co_await server_.write(bytes);
  if (sent) {
    sent = co_await session_->spend(bytes.size(), 0);
  }
  co_return sent;
}

asio::awaitable<bool> Inspection::to_guest(std::string bytes) {
  filler_.hide(bytes, place_, /*secure=*/true);
  if (taped_ && taping_) {
    taped_->answered(bytes);
  }
  bool passed = co_await guest_.write(bytes);
  if (passed) {
    passed = co_await session_->spend(0, bytes.size());
  }
  co_return passed;
}

void Inspection::tape_end(RecordedExchange::End how) {
  if (taped_) {
    taped_->end(how);
    taped_.reset();
  }
  taping_ = false;
}

asio::awaitable<void> Inspection::refuse(int status, std::string reason) {
  if (session_->record().reason.empty()) {
    session_->record().reason = reason;
  }
  (void)co_await guest_.write(refusal(status, reason));
  co_await guest_.finish();
}

void Inspection::end() {
  over_ = true;
  answered_.cancel();
  session_->cut();
}

}  // namespace glovebox::egress
