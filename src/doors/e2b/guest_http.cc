// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/guest_http.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxHead = 64 * 1024;
constexpr std::size_t kMaxChunkLine = 1024;
constexpr int kMaxInterim = 16;  // 1xx answers before the real one.
constexpr int kPatienceMs = 300'000;

constexpr std::array<std::string_view, 8> kOfTheConnection{"connection",
                                                           "keep-alive",
                                                           "proxy-authenticate",
                                                           "proxy-authorization",
                                                           "te",
                                                           "transfer-encoding",
                                                           "upgrade",
                                                           "trailer"};

Error malformed() { return Error(ErrorCode::kUnavailable, "the server's answer is malformed"); }

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small;
}

bool is_token(std::string_view text) {
  static constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const bool whole = failure == std::errc{} && end == text.data() + text.size();
  return whole && value <= std::numeric_limits<std::int64_t>::max() ? std::optional(value)
                                                                    : std::nullopt;
}

}  // namespace

GuestHttp::GuestHttp(UniqueFd connection, int stop_fd)
    : connection_(std::move(connection)), stop_fd_(stop_fd) {}

GuestHttp::~GuestHttp() {
  // A guest made the other end, and may have asked for a close that waits.
  const linger at_once{.l_onoff = 0, .l_linger = 0};
  (void)::setsockopt(connection_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

Result<void> GuestHttp::wait(short events) {
  std::array<pollfd, 2> watched{{{.fd = connection_.get(), .events = events, .revents = 0},
                                 {.fd = stop_fd_, .events = POLLIN, .revents = 0}}};
  const int ready = ::poll(watched.data(), watched.size(), kPatienceMs);
  if (ready < 0 && errno != EINTR) {
    return Error::from_errno("poll");
  }
  if (ready == 0 || watched[1].revents != 0) {
    return Error(ErrorCode::kUnavailable,
                 ready == 0 ? "the server does not answer" : "nobody waits for the answer");
  }
  return {};
}

Result<void> GuestHttp::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(connection_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto ready = wait(POLLOUT); !ready) {
        return ready;
      }
    } else if (errno != EINTR) {
      return Error(ErrorCode::kUnavailable, std::string("send: ") + std::strerror(errno));
    }
  }
  return {};
}

Result<bool> GuestHttp::fill() {
  constexpr std::size_t kStep = 64 * 1024;
  const std::size_t have = buffer_.size();
  buffer_.resize(have + kStep);
  for (;;) {
    const ssize_t got = ::recv(connection_.get(), buffer_.data() + have, kStep, MSG_DONTWAIT);
    const int failure = errno;
    if (got >= 0) {
      buffer_.resize(have + static_cast<std::size_t>(got));
      return got > 0;
    }
    const auto ready = failure == EAGAIN ? wait(POLLIN) : Result<void>();
    if (!ready || (failure != EAGAIN && failure != EINTR)) {
      buffer_.resize(have);
      return ready ? Error::from_errno("recv", failure) : ready.error();
    }
  }
}

Result<std::string> GuestHttp::take_line(std::size_t most) {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos && end <= most) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.ends_with('\r')) {
        line.pop_back();
      }
      return line;
    }
    if (buffer_.size() > most || !GB_TRY(fill())) {
      return malformed();
    }
  }
}

Result<GuestHttp::Head> GuestHttp::read_head(bool for_head) {
  Head head;
  bool chunked = false;
  for (int interim = 0; interim < kMaxInterim; ++interim) {
    head = {};
    chunked = false;
    std::size_t budget = kMaxHead;
    std::string line = GB_TRY(take_line(budget));
    const bool plausible = line.size() >= 12 && line.starts_with("HTTP/1.") && line[8] == ' ';
    const auto status = plausible ? number(std::string_view(line).substr(9, 3), 10) : std::nullopt;
    if (!status || *status < 100 || *status > 599) {
      return malformed();
    }
    head.status = static_cast<int>(*status);
    for (;;) {
      budget -= std::min(budget, line.size() + 2);
      line = GB_TRY(take_line(budget));
      if (line.empty()) {
        break;
      }
      const std::size_t colon = line.find(':');
      const std::string name = line.substr(0, colon);
      const std::string value(
          trimmed(std::string_view(line).substr(std::min(colon, line.size() - 1) + 1)));
      const bool clean = std::ranges::none_of(
          value, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7F; });
      if (colon == std::string::npos || !is_token(name) || !clean) {
        return malformed();
      }
      const std::string plain = lower(name);
      if (plain == "content-length") {
        const auto length = number(value, 10);
        if (!length || (head.length && *head.length != *length)) {
          return malformed();
        }
        head.length = length;
      } else if (plain == "transfer-encoding") {
        chunked = lower(value) == "chunked";
        if (!chunked) {
          return malformed();
        }
      } else if (std::ranges::find(kOfTheConnection, plain) == kOfTheConnection.end()) {
        head.headers.emplace_back(name, value);
      }
    }
    if (head.status >= 200 || head.status == 101) {
      break;
    }
  }
  if (head.status < 200) {
    return malformed();
  }
  head.has_body = !for_head && head.status != 204 && head.status != 304;
  if (chunked) {
    head.length.reset();
  }
  framing_ = !head.has_body ? Framing::kNone
             : chunked      ? Framing::kChunks
             : head.length  ? Framing::kLength
                            : Framing::kUntilClosed;
  left_ = framing_ == Framing::kLength ? *head.length : 0;
  return head;
}

Result<std::size_t> GuestHttp::take(std::span<char> into, std::uint64_t most) {
  if (buffer_.empty() && !GB_TRY(fill())) {
    return std::size_t{0};
  }
  const std::size_t count =
      static_cast<std::size_t>(std::min<std::uint64_t>({into.size(), buffer_.size(), most}));
  std::memcpy(into.data(), buffer_.data(), count);
  buffer_.erase(0, count);
  return count;
}

Result<bool> GuestHttp::next_chunk() {
  if (within_chunks_ && !GB_TRY(take_line(2)).empty()) {
    return malformed();
  }
  within_chunks_ = true;
  const std::string line = GB_TRY(take_line(kMaxChunkLine));
  const auto size = number(trimmed(std::string_view(line).substr(0, line.find(';'))), 16);
  if (!size) {
    return malformed();
  }
  left_ = *size;
  return left_ > 0;
}

Result<std::size_t> GuestHttp::read_body(std::span<char> into) {
  if (framing_ == Framing::kNone) {
    return std::size_t{0};
  }
  if (framing_ == Framing::kUntilClosed) {
    return take(into, into.size());
  }
  if (left_ == 0 && (framing_ == Framing::kLength || !GB_TRY(next_chunk()))) {
    framing_ = Framing::kNone;
    return std::size_t{0};
  }
  const std::size_t count = GB_TRY(take(into, left_));
  if (count == 0) {
    return Error(ErrorCode::kUnavailable, "the server's answer ends too early");
  }
  left_ -= count;
  return count;
}

}  // namespace glovebox::e2b
