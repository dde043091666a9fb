// SPDX-License-Identifier: Apache-2.0
#include "egress/answering.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <vector>

#include "base/digest/digest.h"
#include "egress/client_hello.h"
#include "egress/taping.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using End = RecordedExchange::End;

constexpr std::size_t kPiece = 32UL * 1024;
// Bytes to read from a guest that still sends after the last answer.
constexpr std::size_t kLastWords = 256UL * 1024;

}  // namespace

Dialed open_recorded(Playback& playback, const Place& place, ConnectionRecord& record) {
  const RecordedOpening* const opening = playback.open(place);
  if (opening == nullptr) {
    record.verdict = ConnectionRecord::Verdict::kDenied;
    record.rule = kRecordingRule;
    record.reason = "no connection to it is in the recording";
    return {.refusal = 403};
  }
  record.address = opening->connection.address;
  if (opening->open) {
    record.reason.clear();
  } else {
    record.verdict = opening->connection.verdict;
    record.rule = opening->connection.rule;
    record.reason = opening->connection.reason;
  }
  return {.open = opening->open, .refusal = static_cast<int>(opening->refusal)};
}

asio::awaitable<void> Answering::answer_request(const http::Head& head) {
  in_ = std::exchange(session_.heard(), {});
  (void)co_await exchange(head);
  (void)co_await finish();
}

asio::awaitable<void> Answering::answer_tunnel() {
  if (!playback_.server_begins(place_)) {
    const bool agrees = co_await session_.hear_client(place_);
    if (!agrees) {
      co_return;
    }
  }
  const bool secure = read_client_hello(session_.heard()).state == ClientHello::State::kWhole;
  const TlsAuthority* const authority = session_.surroundings().authority;
  Ssl ssl = secure && authority != nullptr ? authority->serve(place_) : nullptr;
  if (ssl) {
    co_await answer_secure(std::move(ssl));
  } else {
    in_ = std::exchange(session_.heard(), {});
    co_await answer_connection();
  }
}

asio::awaitable<void> Answering::answer_secure(Ssl ssl) {
  const std::string first = std::exchange(session_.heard(), {});
  guest_.emplace(session_.guest(), std::move(ssl), first);
  session_.await_head();
  const bool met = co_await guest_->handshake();
  session_.moved();
  if (!met) {
    session_.record().verdict = ConnectionRecord::Verdict::kFailed;
    session_.record().reason = "the guest: " + guest_->failure();
    session_.cut();
    co_return;
  }
  for (bool more = true; more;) {
    more = co_await answer_next();
  }
  (void)co_await finish();
}

// False if no further request should be read.
asio::awaitable<bool> Answering::answer_next() {
  std::size_t searched = 0;
  std::optional<std::size_t> end;
  while (!(end = http::end_of_head(in_, searched))) {
    if (in_.size() >= session_.bounds().head) {
      co_await refuse(431, "the request's head is too long");
      co_return false;
    }
    const bool more = co_await read();
    if (!more) {
      co_return false;
    }
  }
  auto parsed = parse_request_at(place_, std::string_view(in_).substr(0, *end), /*secure=*/true);
  if (const auto* const wrong = std::get_if<http::BadRequest>(&parsed)) {
    co_await refuse(wrong->status, wrong->message);
    co_return false;
  }
  in_.erase(0, *end);
  co_return co_await exchange(std::get<Request>(parsed).head);
}

// False if the connection ends here.
asio::awaitable<bool> Answering::exchange(const http::Head& head) {
  if (head.expects_continue) {
    const bool told = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!told) {
      co_return false;
    }
  }
  BytesHash asked = asked_hash(head);
  http::BodyDecoder body(head);
  std::vector<char> block(kPiece);
  while (!body.done()) {
    const auto step = body.decode(in_, block);
    if (!step) {
      co_await refuse(400, step.error().message());
      co_return false;
    }
    in_.erase(0, step->consumed);
    asked.add({block.data(), step->produced});
    if (step->produced == 0 && step->consumed == 0) {
      const bool more = co_await read();
      if (!more) {
        co_return false;
      }
    }
  }
  const bool secure = guest_.has_value();
  const RecordedExchange* const found = playback_.answer(place_, secure, asked.hex());
  if (found == nullptr) {
    const RecordedExchange missing{
        .kind = secure ? RecordedExchange::Kind::kSecure : RecordedExchange::Kind::kPlain,
        .place = place_,
        .method = head.method,
        .target = head.target.substr(0, 200)};
    const std::string reason = missing.to_text() + " is not in the recording";
    note(reason);
    co_await refuse(403, reason);
    co_return false;
  }
  for (const RecordedTurn& turn : found->turns) {
    const bool told = co_await write(turn.bytes);
    if (!told) {
      co_return false;
    }
  }
  if (found->end == End::kCut) {
    session_.cut();
  }
  co_return found->end == End::kKept&& head.keep_alive;
}

asio::awaitable<void> Answering::answer_connection() {
  const RecordedExchange* const found = playback_.connection(place_);
  if (found == nullptr) {
    note("a connection to " + place_.to_text() + " is not in the recording");
    reset();
    co_return;
  }
  for (const RecordedTurn& turn : found->turns) {
    bool more = false;
    if (turn.of_guest) {
      more = co_await hear(turn);
    } else {
      more = co_await write(turn.bytes);
    }
    if (!more) {
      co_return;
    }
  }
  if (found->end == End::kCut) {
    session_.cut();
    co_return;
  }
  const bool beyond = !in_.empty();
  const bool more = co_await finish();
  if (more || beyond) {
    note("more was sent to " + place_.to_text() + " than in the recording");
  }
}

// Reads what the guest said here when it was recorded. False if it says something else now.
asio::awaitable<bool> Answering::hear(const RecordedTurn& turn) {
  BytesHash heard;
  for (std::uint64_t left = turn.size; left > 0;) {
    if (in_.empty()) {
      const bool more = co_await read();
      if (!more) {
        note("less was sent to " + place_.to_text() + " than in the recording");
        session_.cut();
        co_return false;
      }
    }
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left, in_.size()));
    heard.add(std::string_view(in_).substr(0, piece));
    in_.erase(0, piece);
    left -= piece;
  }
  if (heard.hex() == turn.sha256) {
    co_return true;
  }
  note("what was sent to " + place_.to_text() + " is not what was recorded");
  reset();
  co_return false;
}

asio::awaitable<bool> Answering::read() {
  std::array<char, 16UL * 1024> block{};
  std::size_t got = 0;
  if (guest_) {
    got = co_await guest_->read(block);
  } else {
    error_code error;
    got = co_await session_.guest().async_read_some(asio::buffer(block), with(error));
    got = error ? 0 : got;
  }
  in_.append(block.data(), got);
  if (got == 0) {
    co_return false;
  }
  co_return co_await session_.spend(got, 0);
}

asio::awaitable<bool> Answering::write(std::string_view bytes) {
  bool written = true;
  if (guest_) {
    written = co_await guest_->write(bytes);
  } else {
    error_code error;
    co_await asio::async_write(session_.guest(), asio::buffer(bytes.data(), bytes.size()),
                               with(error));
    written = !error;
  }
  if (!written) {
    co_return false;
  }
  co_return co_await session_.spend(0, bytes.size());
}

asio::awaitable<void> Answering::refuse(int status, std::string reason) {
  if (session_.record().reason.empty()) {
    session_.record().reason = reason;
  }
  (void)co_await write(refusal(status, reason));
}

// Says that nothing more comes, and lets the guest see that before the connection ends. Returns
// whether the guest still sent anything.
asio::awaitable<bool> Answering::finish() {
  error_code ignored;
  if (guest_) {
    co_await guest_->finish();
  }
  session_.guest().shutdown(tcp::socket::shutdown_send, ignored);
  std::size_t heard = 0;
  for (bool more = true; more && heard < kLastWords; heard += in_.size()) {
    in_.clear();
    more = co_await read();
  }
  session_.cut();
  co_return heard > 0;
}

void Answering::note(std::string reason) {
  session_.record().verdict = ConnectionRecord::Verdict::kDenied;
  session_.record().rule = kRecordingRule;
  session_.record().reason = std::move(reason);
}

void Answering::reset() {
  error_code ignored;
  session_.guest().set_option(asio::socket_base::linger(true, 0), ignored);
  session_.cut();
}

}  // namespace glovebox::egress
