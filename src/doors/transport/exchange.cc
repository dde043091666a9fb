// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/exchange.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>

#include "doors/transport/blocking.h"
#include "doors/transport/status.h"

namespace glovebox::http {
namespace {

constexpr std::size_t kChunkBuffer = 128 * 1024;
// A body that nobody wanted is read to its end when it is no larger: cheaper than a new connection.
constexpr std::uint64_t kUnwantedBody = 64 * 1024;
constexpr std::chrono::milliseconds kUnwantedPatience{500};
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

iovec piece_of(std::string_view bytes) {
  return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
}

bool bodiless(int status) { return status < 200 || status == 204 || status == 304; }

// A value that came from elsewhere cannot end its line.
void append_clean(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  }
}

Error misuse(const char* what) { return {ErrorCode::kInternal, what}; }

}  // namespace

Exchange::Exchange(Line line, Head head)
    : line_(std::move(line)), head_(std::move(head)), body_(head_), keep_(head_.keep_alive) {}

std::optional<std::uint64_t> Exchange::content_length() const {
  // Without framing there is no body (RFC 9112, 6.3).
  return head_.chunked ? std::nullopt : std::optional(head_.content_length.value_or(0));
}

Result<void> Exchange::admit_body() {
  if (!head_.expects_continue || continue_sent_ || stage_ != Stage::kUnanswered ||
      !line_.in.empty()) {
    return {};
  }
  continue_sent_ = true;
  iovec piece = piece_of("HTTP/1.1 100 Continue\r\n\r\n");
  return write_pieces({&piece, 1});
}

Result<std::size_t> Exchange::receive(std::span<char> into) {
  const Channel::Outcome there = line_.channel->read(into);
  auto count = Result<std::size_t>(there.bytes);
  if (there.status != Channel::Status::kDone) {
    // What fails now fails in read_some() again, which says how.
    const auto place =
        line_.body_waits.enter({.fd = line_.channel->fd(), .bytes = received_, .since = since_});
    if (!place) {
      malformed_ = true;  // What is left of it would be taken for the next request.
      return Error(ErrorCode::kUnavailable, "too many requests are still sending their bodies",
                   "try again in a moment");
    }
    count = read_some(*line_.channel, into, line_.body_patience);
  }
  received_ += count ? *count : 0;
  return count;
}

Result<std::size_t> Exchange::read(std::span<char> into) {
  if (upgraded_ || broken_) {
    return Error(ErrorCode::kUnavailable, "the client is gone");
  }
  if (malformed_) {
    return Error(ErrorCode::kInvalid, "malformed chunked body");
  }
  if (body_.done() || into.empty()) {
    return std::size_t{0};
  }
  body_wanted_ = true;
  GB_TRY(admit_body());
  while (!body_.done()) {
    if (!line_.in.empty()) {
      auto step = body_.decode(line_.in, into);
      if (!step) {
        malformed_ = true;
        return std::move(step).error();
      }
      line_.in.erase(0, step->consumed);
      if (step->produced > 0) {
        return step->produced;
      }
      if (body_.done()) {
        break;
      }
      if (line_.in.size() >= kChunkBuffer) {
        malformed_ = true;
        return Error(ErrorCode::kInvalid, "malformed chunked body: unterminated chunk header");
      }
    }
    const std::uint64_t plain = line_.in.empty() ? body_.plain_bytes() : 0;
    const std::size_t held = line_.in.size();
    if (plain == 0) {
      line_.in.resize(kChunkBuffer);
    }
    auto count = receive(plain > 0 ? into.first(static_cast<std::size_t>(
                                         std::min<std::uint64_t>(plain, into.size())))
                                   : std::span(line_.in).subspan(held));
    if (plain == 0) {
      line_.in.resize(held + (count ? *count : 0));
    }
    if (!count && malformed_) {
      return std::move(count).error();
    }
    if (!count || *count == 0) {
      broken_ = true;
      return count
                 ? Error(ErrorCode::kUnavailable, "the client disconnected while sending the body")
                 : std::move(count).error();
    }
    if (plain > 0) {
      body_.skip(*count);
      return *count;
    }
  }
  return std::size_t{0};
}

int Exchange::gone_fd() {
  const std::scoped_lock lock(gone_mutex_);
  if (!gone_ && line_.channel) {
    // An epoll descriptor is readable itself as long as something that it watches has happened
    // (epoll(7)): so no thread has to look out for the peer.
    UniqueFd watch(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLRDHUP, .data = {}};
    if (watch && ::epoll_ctl(watch.get(), EPOLL_CTL_ADD, line_.channel->fd(), &event) == 0) {
      gone_ = std::move(watch);
    }
  }
  return gone_ ? gone_.get() : -1;
}

Result<void> Exchange::begin() {
  if (stage_ != Stage::kUnanswered) {
    return misuse("a second response to one request");
  }
  if (broken_ || upgraded_) {
    return Error(ErrorCode::kUnavailable, "the client is gone");
  }
  return {};
}

std::string Exchange::answer_head(int status, const Headers& headers, std::string_view framing) {
  const bool unread = !body_.done() && (head_.chunked || body_.plain_bytes() > kUnwantedBody ||
                                        (head_.expects_continue && !continue_sent_));
  if (unread || malformed_ || line_.last || framing_ == Framing::kUntilClose) {
    keep_ = false;
  }
  std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
  head += reason_phrase(status);
  head += "\r\n";
  for (const auto& [name, value] : headers) {
    if (equal_names(name, "connection")) {
      keep_ = keep_ && !equal_names(value, "close");
      continue;
    }
    append_clean(head, name);
    head += ": ";
    append_clean(head, value);
    head += "\r\n";
  }
  head += framing;
  if (!keep_) {
    head += "Connection: close\r\n";
  } else if (head_.http_1_0) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  return head;
}

std::string_view Exchange::peer() const {
  constexpr std::string_view kAsOwner = "peer ";
  return line_.peer.starts_with(kAsOwner) ? line_.peer.substr(kAsOwner.size()) : line_.peer;
}

Result<void> Exchange::count_for(std::string_view tenant, Pace pace) {
  tenant_ = "tenant " + std::string(tenant);
  const bool takes_long = pace == Pace::kLong;
  place_.reset();
  place_ = (takes_long ? line_.capacity.long_calls : line_.capacity.short_calls).take(tenant_);
  if (!place_) {
    return Error(ErrorCode::kExhausted, "this tenant has too many requests in progress",
                 "try again in 1 second, or cancel some of them");
  }
  if (takes_long && !stepped_out_) {
    stepped_out_ = true;
    line_.step_out();
  }
  return {};
}

Result<void> Exchange::drain() {
  while (!line_.unsent.outbox.empty()) {
    const auto outcome = line_.unsent.outbox.flush(*line_.channel, kNoLimit);
    line_.unsent.clock.took(outcome.bytes);
    if (outcome.status != Channel::Status::kDone) {
      if (auto ready = await_reader(*line_.channel, outcome.status, line_.unsent.clock); !ready) {
        broken_ = true;
        return ready;
      }
    }
  }
  return {};
}

Result<void> Exchange::write_pieces(std::span<iovec> pieces) {
  GB_TRY(drain());
  auto written = write_all(*line_.channel, pieces, line_.unsent.clock);
  broken_ = broken_ || !written;
  return written;
}

bool Exchange::may_leave(std::uint64_t cost) {
  if (!line_.unsent.share) {
    line_.unsent.share = line_.capacity.unsent.take(owner(), cost);
  }
  return line_.unsent.share.has_value();
}

Result<void> Exchange::leave_pieces(std::span<iovec> pieces) {
  Unsent& unsent = line_.unsent;
  if (unsent.outbox.empty()) {
    const auto status = write_ready(*line_.channel, pieces, unsent.clock);
    if (status == Channel::Status::kDone) {
      return {};
    }
    if (status == Channel::Status::kEnd || status == Channel::Status::kFailed) {
      broken_ = true;
      return Error(ErrorCode::kUnavailable, "the client is gone");
    }
  }
  std::size_t left = 0;
  for (const iovec& piece : pieces) {
    left += piece.iov_len;
  }
  if (may_leave(left)) {
    for (const iovec& piece : pieces) {
      unsent.outbox.add({static_cast<const char*>(piece.iov_base), piece.iov_len});
    }
    return {};
  }
  // A thread that is counted for a tenant may wait for the client. No other thread does.
  if (place_) {
    return write_pieces(pieces);
  }
  broken_ = true;
  return Error(ErrorCode::kUnavailable, "the client is not reading its responses");
}

Result<void> Exchange::send(int status, const Headers& headers, std::string_view body) {
  GB_TRY(begin());
  stage_ = Stage::kAnswered;
  std::string framing;
  if (!bodiless(status) && !find_header(headers, "content-length")) {
    framing = "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  const std::string head = answer_head(status, headers, framing);
  const bool with_body = !bodiless(status) && head_.method != "HEAD";
  std::array<iovec, 2> pieces = {piece_of(head), piece_of(with_body ? body : std::string_view())};
  return leave_pieces(pieces);
}

Result<void> Exchange::start(int status, const Headers& headers) {
  GB_TRY(begin());
  stage_ = Stage::kStreaming;
  std::string framing;
  const auto length = find_header(headers, "content-length");
  if (bodiless(status) || head_.method == "HEAD") {
    framing_ = Framing::kNone;
  } else if (length) {
    framing_ = Framing::kLength;
    (void)std::from_chars(length->data(), length->data() + length->size(), left_);
  } else if (head_.http_1_0) {
    framing_ = Framing::kUntilClose;
  } else {
    framing_ = Framing::kChunked;
    framing = "Transfer-Encoding: chunked\r\n";
  }
  const std::string head = answer_head(status, headers, framing);
  iovec piece = piece_of(head);
  return write_pieces({&piece, 1});
}

Result<void> Exchange::account(std::uint64_t count) {
  if (stage_ != Stage::kStreaming) {
    return misuse("a piece of a response that was not started");
  }
  if (broken_) {
    return Error(ErrorCode::kUnavailable, "the client is gone");
  }
  if (framing_ == Framing::kLength) {
    if (count > left_) {
      broken_ = true;
      return misuse("the response is longer than announced");
    }
    left_ -= count;
  }
  return {};
}

Result<void> Exchange::write(std::string_view piece) {
  GB_TRY(account(piece.size()));
  if (framing_ == Framing::kNone || piece.empty()) {
    return {};
  }
  if (framing_ != Framing::kChunked) {
    iovec only = piece_of(piece);
    return write_pieces({&only, 1});
  }
  const std::string size = chunk_size(piece.size());
  std::array<iovec, 3> pieces = {piece_of(size), piece_of(piece), piece_of("\r\n")};
  return write_pieces(pieces);
}

Result<void> Exchange::write_file(int fd, std::uint64_t offset, std::uint64_t length) {
  GB_TRY(account(length));
  if (framing_ == Framing::kNone || length == 0) {
    return {};
  }
  const bool chunked = framing_ == Framing::kChunked;
  if (chunked) {
    const std::string size = chunk_size(length);
    iovec piece = piece_of(size);
    GB_TRY(write_pieces({&piece, 1}));
  }
  GB_TRY(drain());
  // The caller closes its own as soon as this returns.
  UniqueFd file(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!file) {
    broken_ = true;
    return Error::from_errno("send a file");
  }
  Unsent& unsent = line_.unsent;
  unsent.outbox.add_file(std::move(file), offset, length);
  const auto outcome = unsent.outbox.flush(*line_.channel, kNoLimit);
  unsent.clock.took(outcome.bytes);
  if (outcome.status == Channel::Status::kEnd || outcome.status == Channel::Status::kFailed) {
    broken_ = true;
    return Error(ErrorCode::kUnavailable, "the client is gone, or the file was truncated");
  }
  if (!unsent.outbox.empty() && !may_leave(kFileCost)) {
    GB_TRY(drain());
  }
  if (chunked) {
    iovec piece = piece_of("\r\n");
    return leave_pieces({&piece, 1});
  }
  return {};
}

Result<void> Exchange::finish() {
  GB_TRY(account(0));
  stage_ = Stage::kAnswered;
  if (framing_ == Framing::kLength && left_ > 0) {
    abort();
    return misuse("the response is shorter than announced");
  }
  if (framing_ == Framing::kChunked) {
    iovec piece = piece_of("0\r\n\r\n");
    return leave_pieces({&piece, 1});
  }
  return {};
}

Result<void> Exchange::follow(int status,
                              const Headers& headers,
                              std::unique_ptr<PieceSource> source) {
  auto share = line_.capacity.followers.take(owner());
  if (!share) {
    return Error(ErrorCode::kExhausted, "too many open event streams",
                 "try again in 1 second, or close some of them");
  }
  GB_TRY(start(status, headers));
  if (framing_ == Framing::kNone) {
    return finish();
  }
  stage_ = Stage::kAnswered;
  // What is left of the body would be read by nobody.
  keep_ = keep_ && body_.done();
  pieces_.emplace(PieceOrder{.source = std::move(source),
                             .chunked = framing_ == Framing::kChunked,
                             .keep = keep_,
                             .owner = std::string(owner()),
                             .share = *std::move(share)});
  return {};
}

void Exchange::abort() {
  if (upgraded_ || broken_) {
    return;
  }
  broken_ = true;
  break_off(*line_.channel, framing_ == Framing::kUntilClose);
}

Result<std::unique_ptr<WebSocket>> Exchange::upgrade(std::string_view protocol) {
  GB_TRY(begin());
  if (head_.method != "GET" || !head_.upgrade ||
      !has_token(head_.headers, "upgrade", "websocket")) {
    return Error(ErrorCode::kInvalid, "not a WebSocket handshake");
  }
  stage_ = Stage::kAnswered;
  upgraded_ = true;
  return line_.upgrade(head_, protocol);
}

Result<void> Exchange::relay(UniqueFd peer, std::string_view first) {
  GB_TRY(begin());
  if (body_wanted_) {
    return misuse("cannot relay a request after reading its body");
  }
  auto link = line_.capacity.links.take(owner());
  if (!link) {
    return Error(ErrorCode::kExhausted, "too many open connections to sandbox ports",
                 "try again in 1 second, or close some of them");
  }
  if (!body_.done()) {
    head_.expects_continue = head_.expects_continue && line_.in.empty();
    GB_TRY(admit_body());
  }
  stage_ = Stage::kAnswered;
  keep_ = false;
  relay_.emplace(RelayOrder{.head = head_,
                            .peer = std::move(peer),
                            .first = std::string(first),
                            .link = *std::move(link)});
  return {};
}

Exchange::Next Exchange::conclude() {
  if (stage_ == Stage::kUnanswered && !broken_) {
    constexpr std::string_view kBody =
        R"({"code":500,"error":"internal","message":"the request got no response","hint":""})";
    (void)send(500, {{"Content-Type", "application/json"}}, kBody);
  } else if (stage_ == Stage::kStreaming) {
    abort();
  }
  if (upgraded_) {
    return Next::kWebSocket;
  }
  if (relay_ && !broken_) {
    return Next::kRelay;
  }
  if (pieces_ && !broken_) {
    return Next::kPieces;
  }
  if (broken_) {
    line_.unsent.outbox = {};
  }
  if (!keep_ || broken_) {
    return Next::kEnd;
  }
  line_.body_patience = kUnwantedPatience;
  std::array<char, 16 * 1024> unwanted;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (!body_.done()) {
    if (auto count = read(unwanted); !count) {
      return Next::kEnd;
    }
  }
  return Next::kRequest;
}

}  // namespace glovebox::http
