// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/head.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace glovebox::http {
namespace {

namespace beast = boost::beast;

constexpr std::size_t kMaxHeaders = 100;
constexpr std::size_t kMaxTarget = 16 * 1024;

beast::string_view to_beast(std::string_view text) { return {text.data(), text.size()}; }
std::string_view from_beast(beast::string_view text) { return {text.data(), text.size()}; }

bool equal(std::string_view left, std::string_view right) {
  return beast::iequals(to_beast(left), to_beast(right));
}

std::size_t count(const Headers& headers, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(headers.begin(), headers.end(),
                    [&](const auto& header) { return equal(header.first, name); }));
}

struct TargetForm {
  std::string origin;                           // Path and query, or "*".
  std::optional<std::string_view> authority{};  // Of the absolute form.
  bool secure = false;                          // Likewise: https.
};

// RFC 9112, 3.2: a server takes the absolute form, too.
std::optional<TargetForm> read_target(std::string_view method, std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() >= scheme.size() && equal(target.substr(0, scheme.size()), scheme)) {
      target.remove_prefix(scheme.size());
      const std::size_t path = std::min(target.find_first_of("/?"), target.size());
      const std::string_view rest = target.substr(path);
      return TargetForm{.origin = (rest.starts_with('/') ? "" : "/") + std::string(rest),
                        .authority = target.substr(0, path),
                        .secure = scheme.size() > 7};
    }
  }
  if (target.starts_with('/') || (target == "*" && method == "OPTIONS")) {
    return TargetForm{.origin = std::string(target)};
  }
  return std::nullopt;
}

// A name or an address, and perhaps a port (RFC 3986, 3.2; RFC 9110, 7.2).
bool is_host(std::string_view text) {
  constexpr std::string_view kMarks = "-._~!$&'()*+,;=%:[]";
  return std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

// Whether a request line ends in "HTTP/", a digit, a dot and a digit, but not in a version of ours.
bool has_other_version(std::string_view bytes) {
  constexpr std::string_view kName = " HTTP/";
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  if (line.size() < kName.size() + 3) {
    return false;
  }
  const std::string_view version = line.substr(line.size() - 3);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return line.substr(0, line.size() - 3).ends_with(kName) && is_digit(version[0]) &&
         version[1] == '.' && is_digit(version[2]) && version != "1.0" && version != "1.1";
}

// Digits only: no sign, no list, no space.
std::optional<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t length = 0;
  if (text.empty() || text.size() > 18) {
    return std::nullopt;
  }
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return length;
}

bool has_bare_newline(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') {
      return true;
    }
  }
  return false;
}

std::optional<BadRequest> frame(Head& head) {
  if (count(head.headers, "host") > 1 || (!head.http_1_0 && count(head.headers, "host") == 0)) {
    return BadRequest{.message = "exactly one Host header is required"};
  }
  const std::size_t lengths = count(head.headers, "content-length");
  const std::size_t codings = count(head.headers, "transfer-encoding");
  if (lengths > 1) {
    return BadRequest{.message = "more than one Content-Length header"};
  }
  if (lengths > 0 && codings > 0) {
    return BadRequest{.message = "both Content-Length and Transfer-Encoding"};
  }
  if (lengths == 1) {
    head.content_length = parse_length(*find_header(head.headers, "content-length"));
    if (!head.content_length) {
      return BadRequest{.message = "Content-Length is not a number"};
    }
  }
  if (codings > 0) {
    if (head.http_1_0 || codings > 1 ||
        !equal(*find_header(head.headers, "transfer-encoding"), "chunked")) {
      return BadRequest{.message = "unsupported Transfer-Encoding: only 'chunked' is supported"};
    }
    head.chunked = true;
  }
  return std::nullopt;
}

// A head whose syntax is right and whose target nobody has read yet.
struct RawHead {
  Head head;
  std::string target;
};

std::variant<RawHead, BadRequest> read_head(std::string_view bytes) {
  // A folded header may be refused (RFC 9112, 5.2), and others may read it as two.
  if (bytes.find("\r\n ") != std::string_view::npos ||
      bytes.find("\r\n\t") != std::string_view::npos) {
    return BadRequest{.message = "malformed request: a folded header"};
  }
  if (has_other_version(bytes)) {
    return BadRequest{.status = 505,
                      .error = "unsupported",
                      .message = "only HTTP/1.1 is supported"};
  }
  beast::http::parser<true, beast::http::empty_body> parser;
  parser.header_limit(std::numeric_limits<std::uint32_t>::max());  // The caller's concern.
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  beast::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error || used != bytes.size() || !parser.is_header_done()) {
    return BadRequest{.message = "malformed request" + (error ? ": " + error.message() : "")};
  }
  const auto& message = parser.get();
  RawHead raw;
  raw.head.method = from_beast(message.method_string());
  raw.head.http_1_0 = message.version() == 10;
  for (const auto& field : message) {
    if (raw.head.headers.size() == kMaxHeaders) {
      return BadRequest{.status = 431, .error = "too_large", .message = "too many headers"};
    }
    raw.head.headers.emplace_back(from_beast(field.name_string()), from_beast(field.value()));
  }
  raw.target = from_beast(message.target());
  if (raw.target.size() > kMaxTarget) {
    return BadRequest{.status = 414,
                      .error = "too_large",
                      .message = "the request target is too long"};
  }
  return raw;
}

// The framing, and the other headers that change how the request is worked on.
std::optional<BadRequest> check_headers(Head& head) {
  if (auto bad = frame(head)) {
    return bad;
  }
  if (!is_host(find_header(head.headers, "host").value_or(""))) {
    return BadRequest{.message = "invalid Host header"};
  }
  if (const auto expect = find_header(head.headers, "expect")) {
    if (!equal(*expect, "100-continue")) {
      return BadRequest{.status = 417, .message = "unsupported Expect header"};
    }
    head.expects_continue = !head.http_1_0;
  }
  head.keep_alive = head.http_1_0 ? has_token(head.headers, "connection", "keep-alive")
                                  : !has_token(head.headers, "connection", "close");
  head.upgrade = !head.http_1_0 && has_token(head.headers, "connection", "upgrade");
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (equal(key, name)) {
      return value;
    }
  }
  return std::nullopt;
}

bool has_token(const Headers& headers, std::string_view name, std::string_view token) {
  return std::any_of(headers.begin(), headers.end(), [&](const auto& header) {
    return equal(header.first, name) &&
           beast::http::token_list(to_beast(header.second)).exists(to_beast(token));
  });
}

std::optional<std::size_t> end_of_head(std::string_view bytes, std::size_t& searched) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t from = searched < kEnd.size() ? 0 : searched - kEnd.size() + 1;
  const std::size_t end = bytes.find(kEnd, from);
  searched = bytes.size();
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  return end + kEnd.size();
}

std::variant<Head, BadRequest> parse_head(std::string_view bytes) {
  std::variant<RawHead, BadRequest> read = read_head(bytes);
  if (auto* const bad = std::get_if<BadRequest>(&read)) {
    return std::move(*bad);
  }
  auto& [head, target] = std::get<RawHead>(read);
  std::optional<TargetForm> form = read_target(head.method, target);
  if (!form || form->origin.find('#') != std::string::npos) {
    return BadRequest{.message = "invalid request target: send a path"};
  }
  if (auto bad = check_headers(head)) {
    return *std::move(bad);
  }
  const std::string_view host = find_header(head.headers, "host").value_or("");
  if (form->authority && !equal(*form->authority, host)) {
    return BadRequest{.message = "the request target and the Host header name different hosts"};
  }
  head.target = std::move(form->origin);
  return std::move(head);
}

std::variant<ProxyHead, BadRequest> parse_proxy_head(std::string_view bytes) {
  std::variant<RawHead, BadRequest> read = read_head(bytes);
  if (auto* const bad = std::get_if<BadRequest>(&read)) {
    return std::move(*bad);
  }
  auto& [head, target] = std::get<RawHead>(read);
  ProxyHead proxy;
  proxy.connect = head.method == "CONNECT";
  if (proxy.connect) {
    proxy.authority = target;
  } else {
    std::optional<TargetForm> form = read_target(head.method, target);
    if (!form || !form->authority || form->origin.find('#') != std::string::npos) {
      return BadRequest{.message = "this is a proxy: send CONNECT, or the whole URL"};
    }
    proxy.authority = *form->authority;
    proxy.secure = form->secure;
    head.target = std::move(form->origin);
  }
  if (auto bad = check_headers(head)) {
    return *std::move(bad);
  }
  if (proxy.connect && (head.chunked || head.content_length.value_or(0) > 0)) {
    return BadRequest{.message = "a CONNECT request has no body"};
  }
  proxy.head = std::move(head);
  return proxy;
}

Result<AnswerHead> parse_answer_head(std::string_view bytes) {
  beast::http::parser<false, beast::http::empty_body> parser;
  parser.header_limit(std::numeric_limits<std::uint32_t>::max());
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  beast::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  const auto& message = parser.get();
  if ((error && error != beast::http::error::need_more) || used != bytes.size() ||
      !parser.is_header_done() || message.version() != 11) {
    return Error(ErrorCode::kInvalid, "the server does not speak HTTP/1.1");
  }
  AnswerHead answer;
  answer.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    if (answer.head.headers.size() == kMaxHeaders) {
      return Error(ErrorCode::kInvalid, "the response has too many headers");
    }
    answer.head.headers.emplace_back(from_beast(field.name_string()), from_beast(field.value()));
  }
  // An answer needs no Host, which frame() asks for.
  answer.head.http_1_0 = true;
  const bool chunked = has_token(answer.head.headers, "transfer-encoding", "chunked");
  if (chunked && find_header(answer.head.headers, "content-length")) {
    return Error(ErrorCode::kInvalid, "both Content-Length and Transfer-Encoding");
  }
  std::erase_if(answer.head.headers,
                [](const auto& header) { return equal(header.first, "transfer-encoding"); });
  if (auto bad = frame(answer.head)) {
    return Error(ErrorCode::kInvalid, "malformed response: " + bad->message);
  }
  answer.head.http_1_0 = false;
  answer.head.chunked = chunked;
  answer.head.keep_alive = !has_token(answer.head.headers, "connection", "close");
  return answer;
}

// Beast reads chunks only behind a head, so it is given one.
struct BodyDecoder::Chunks {
  Chunks() {
    constexpr std::string_view kHead = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    beast::error_code error;
    (void)parser.put(boost::asio::buffer(kHead.data(), kHead.size()), error);
    GB_CHECK(!error);
  }
  beast::http::parser<true, beast::http::buffer_body> parser;
};

BodyDecoder::BodyDecoder(const Head& head) {
  if (head.chunked) {
    chunks_ = std::make_unique<Chunks>();
  } else {
    remaining_ = head.content_length.value_or(0);
    done_ = remaining_ == 0;
  }
}

BodyDecoder::~BodyDecoder() = default;

void BodyDecoder::skip(std::uint64_t count) {
  GB_CHECK(count <= remaining_);
  remaining_ -= count;
  done_ = remaining_ == 0;
}

Result<BodyDecoder::Step> BodyDecoder::decode(std::string_view in, std::span<char> out) {
  Step step;
  if (done_) {
    return step;
  }
  if (!chunks_) {
    step.consumed =
        static_cast<std::size_t>(std::min<std::uint64_t>({remaining_, in.size(), out.size()}));
    if (step.consumed > 0) {
      std::memcpy(out.data(), in.data(), step.consumed);
    }
    step.produced = step.consumed;
    skip(step.consumed);
    return step;
  }
  auto& parser = chunks_->parser;
  auto& body = parser.get().body();
  body.data = out.data();
  body.size = out.size();
  while (step.consumed < in.size() && !parser.is_done() && body.size > 0) {
    beast::error_code error;
    const std::string_view rest = in.substr(step.consumed);
    const std::size_t used = parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
    step.consumed += used;
    if (error == beast::http::error::need_buffer || error == beast::http::error::need_more) {
      error = {};
      if (used == 0 && has_bare_newline(rest)) {
        return Error(ErrorCode::kInvalid, "malformed chunked body: a line ends without CR");
      }
      if (used == 0) {
        break;
      }
    }
    if (error) {
      return Error(ErrorCode::kInvalid, "malformed chunked body: " + error.message());
    }
    if (used == 0) {
      break;
    }
  }
  step.produced = out.size() - body.size;
  done_ = parser.is_done();
  return step;
}

}  // namespace glovebox::http
