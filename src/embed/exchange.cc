// SPDX-License-Identifier: Apache-2.0
#include "embed/exchange.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace glovebox::embed {
namespace {

constexpr std::size_t kLongestHead = 64 * 1024;
constexpr std::size_t kLongestChunkLine = 1'024;
constexpr std::size_t kPiece = 64 * 1024;
// How much is received at once, on the caller's stack.
constexpr std::size_t kReceived = 16 * 1024;
constexpr std::string_view kEndOfLine = "\r\n";
constexpr std::string_view kEndOfHead = "\r\n\r\n";

Error malformed(const std::string& what) {
  return {ErrorCode::kInternal, "the engine's response has " + what,
          "use a library and programs of the same version"};
}

Result<std::string> head_of(const CallRequest& request) {
  const auto is_word = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  };
  if (!is_word(request.method) || !is_word(request.target) || request.target.front() != '/') {
    return Error(ErrorCode::kInvalid, "invalid method or target",
                 "write the target as a path, with spaces and other letters percent-encoded");
  }
  std::string head = request.method + " " + request.target + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const std::string& header : request.headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos || !is_word(std::string_view(header).substr(0, colon)) ||
        header.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return Error(ErrorCode::kInvalid, "invalid header", "write it as Name: value, in one line");
    }
    head += header;
    head += kEndOfLine;
  }
  if (!request.body.empty() || request.method != "GET") {
    head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  return head + "\r\n";
}

class Reader {
 public:
  Reader(int connection, std::optional<std::chrono::milliseconds> silence)
      : connection_(connection), silence_(silence) {}

  // Some more bytes; false at the end.
  Result<bool> fill() {
    if (silence_) {
      pollfd polled{connection_, POLLIN, 0};
      if (::poll(&polled, 1, static_cast<int>(silence_->count())) == 0) {
        return Error(ErrorCode::kUnavailable,
                     "the engine was silent for " + std::to_string(silence_->count()) + " ms",
                     "raise glovebox_request.silence_ms, or limit the time of what runs");
      }
    }
    std::array<char, kReceived> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    ssize_t size = 0;
    do {
      size = ::recv(connection_, piece.data(), piece.size(), 0);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && errno != ECONNRESET) {
      return Error::from_errno("read from the engine");
    }
    buffer_.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return size > 0;
  }
  Result<void> fill_more() {
    if (!GB_TRY(fill())) {
      return Error(ErrorCode::kUnavailable, "the connection ended within a response",
                   "the engine may have ended; open another one");
    }
    return {};
  }

  // The text before `end`, which is taken as well.
  Result<std::string> take_until(std::string_view end, std::size_t most) {
    std::size_t found = 0;
    while ((found = buffer_.find(end)) == std::string::npos) {
      if (buffer_.size() > most) {
        return malformed("a head or a line that is too long");
      }
      GB_TRY(fill_more());
    }
    std::string text = buffer_.substr(0, found);
    buffer_.erase(0, found + end.size());
    return text;
  }
  // At least one byte, and at most so many.
  Result<std::string> take_some(std::size_t most) {
    if (buffer_.empty()) {
      GB_TRY(fill_more());
    }
    std::string text = buffer_.substr(0, most);
    buffer_.erase(0, text.size());
    return text;
  }
  std::string take_all() { return std::exchange(buffer_, {}); }
  [[nodiscard]] bool empty() const { return buffer_.empty(); }

 private:
  int connection_;
  std::optional<std::chrono::milliseconds> silence_;
  std::string buffer_;
};

// If the engine refuses a request early, the rest of it is lost: the response says why.
Result<void> send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) {
      break;
    }
    if (sent < 0) {
      return Error::from_errno("write to the engine");
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

// What the head says about the body.
struct Framing {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  bool stays = true;  // The connection stays open after the response.
};

template <typename Number>
Result<Number> number_of(std::string_view text, int base) {
  Number number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || rest != text.data() + text.size()) {
    return malformed("an invalid number");
  }
  return number;
}

Result<Framing> parse_head(std::string_view head, CallResponse& response) {
  Framing framing;
  std::string_view line = head.substr(0, head.find(kEndOfLine));
  if (!line.starts_with("HTTP/1.1 ") || line.size() < 12) {
    return malformed("no status");
  }
  response.status = GB_TRY(number_of<int>(line.substr(9, 3), 10));
  while (head.size() > line.size()) {
    head.remove_prefix(line.size() + kEndOfLine.size());
    line = head.substr(0, head.find(kEndOfLine));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      return malformed("an invalid header");
    }
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    std::string name = lower_case(line.substr(0, colon));
    if (name == "content-length") {
      framing.length = GB_TRY(number_of<std::uint64_t>(value, 10));
    } else if (name == "transfer-encoding") {
      framing.chunked = lower_case(value) == "chunked";
    } else if (name == "connection") {
      framing.stays = lower_case(value) != "close";
    }
    response.headers.emplace_back(std::move(name), value);
  }
  return framing;
}

// Where the pieces of a body go.
class Sink {
 public:
  Sink(const CallRequest& request, Exchange& made) : request_(request), made_(made) {}

  // False if the caller has enough.
  Result<bool> take(std::string_view piece) {
    if (piece.empty()) {
      return true;
    }
    if (request_.on_piece && made_.response.status < 400) {
      return request_.on_piece(piece);
    }
    if (piece.size() > request_.most_body - made_.response.body.size()) {
      return Error(ErrorCode::kExhausted,
                   "the response has more than " + std::to_string(request_.most_body) + " bytes",
                   "raise glovebox_request.most_body, or take it in pieces with on_piece");
    }
    made_.response.body += piece;
    return true;
  }

 private:
  const CallRequest& request_;
  Exchange& made_;
};

// Passes `left` bytes; false if the sink has enough.
Result<bool> pass_bytes(Reader& reader, std::uint64_t left, Sink& sink) {
  while (left > 0) {
    const std::string piece =
        GB_TRY(reader.take_some(static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece))));
    left -= piece.size();
    if (!GB_TRY(sink.take(piece))) {
      return false;
    }
  }
  return true;
}

Result<bool> pass_chunks(Reader& reader, Sink& sink) {
  for (;;) {
    std::string line = GB_TRY(reader.take_until(kEndOfLine, kLongestChunkLine));
    const std::string_view digits = std::string_view(line).substr(0, line.find(';'));
    const auto size = GB_TRY(number_of<std::uint64_t>(digits, 16));
    if (size == 0) {
      break;
    }
    if (!GB_TRY(pass_bytes(reader, size, sink))) {
      return false;
    }
    if (!GB_TRY(reader.take_until(kEndOfLine, kLongestChunkLine)).empty()) {
      return malformed("a chunk that is longer than its size");
    }
  }
  while (!GB_TRY(reader.take_until(kEndOfLine, kLongestHead)).empty()) {  // The trailer.
  }
  return true;
}

Result<bool> pass_until_end(Reader& reader, Sink& sink) {
  do {
    if (!GB_TRY(sink.take(reader.take_all()))) {
      return false;
    }
  } while (GB_TRY(reader.fill()));
  return true;
}

}  // namespace

Result<Exchange> exchange(int connection, const CallRequest& request) {
  std::string sent = GB_TRY(head_of(request));
  if (request.body.size() <= kPiece) {
    sent += request.body;
    GB_TRY(send_all(connection, sent));
  } else {
    GB_TRY(send_all(connection, sent));
    GB_TRY(send_all(connection, request.body));
  }
  Reader reader(connection, request.silence);
  Exchange made;
  Framing framing;
  do {  // Skip interim responses.
    made.response = {};
    framing =
        GB_TRY(parse_head(GB_TRY(reader.take_until(kEndOfHead, kLongestHead)), made.response));
  } while (made.response.status < 200);
  const int status = made.response.status;
  Sink sink(request, made);
  bool whole = true;
  bool until_end = false;
  if (request.method == "HEAD" || status == 204 || status == 304) {
    // No body, whatever the head says.
  } else if (framing.chunked) {
    whole = GB_TRY(pass_chunks(reader, sink));
  } else if (framing.length) {
    whole = GB_TRY(pass_bytes(reader, *framing.length, sink));
  } else {
    until_end = true;
    whole = GB_TRY(pass_until_end(reader, sink));
  }
  made.outcome = whole ? Outcome::kWhole : Outcome::kStopped;
  made.reusable = whole && framing.stays && !until_end && reader.empty();
  return made;
}

}  // namespace glovebox::embed
