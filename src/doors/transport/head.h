// SPDX-License-Identifier: Apache-2.0
// The head of a request, and how its body is framed (RFC 9112). All of it is hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "doors/transport/http.h"

namespace glovebox::http {

struct Head {
  std::string method;
  std::string target;  // Origin form, or "*".
  Headers headers;
  bool http_1_0 = false;
  bool keep_alive = false;
  bool chunked = false;
  bool expects_continue = false;
  bool upgrade = false;  // The client wants another protocol on this connection.
  std::optional<std::uint64_t> content_length;
};

// Why a request is not worked on.
struct BadRequest {
  int status = 400;
  std::string_view error = "invalid";
  std::string message;
};

// The first header of this name, ignoring case.
std::optional<std::string_view> find_header(const Headers& headers, std::string_view name);
// Whether the comma-separated values of all headers of this name hold the token.
bool has_token(const Headers& headers, std::string_view name, std::string_view token);

// Where the head at the start of `bytes` ends; nothing when it is not whole yet. `searched` is how
// far an earlier call has looked, so that a head that trickles in is not searched again and again.
std::optional<std::size_t> end_of_head(std::string_view bytes, std::size_t& searched);

// Reads a head that is whole. What two readers could take in two ways is refused: that is how
// requests are smuggled.
std::variant<Head, BadRequest> parse_head(std::string_view bytes);

// The head of a request to a proxy (RFC 9112, 3.2.2 and 3.2.3): CONNECT, or a whole URL.
struct ProxyHead {
  Head head;              // Its target is empty for CONNECT, else in origin form.
  std::string authority;  // Of the target, as it came: HOST or HOST:PORT. Nobody has checked it,
                          // nor compared it with the Host header.
  bool connect = false;
  bool secure = false;  // An https:// URL.
};
// Like parse_head(), but does not fail if the Host header differs from the target.
std::variant<ProxyHead, BadRequest> parse_proxy_head(std::string_view bytes);

// The head of an answer, for the client's side. Of `head` only the headers and the framing are set.
struct AnswerHead {
  int status = 0;
  Head head;
};
// kInvalid if it is malformed, or its framing can be read in two ways.
Result<AnswerHead> parse_answer_head(std::string_view bytes);

// Takes the bytes of a body out of its framing.
class BodyDecoder {
 public:
  explicit BodyDecoder(const Head& head);
  ~BodyDecoder();
  BodyDecoder(const BodyDecoder&) = delete;
  BodyDecoder& operator=(const BodyDecoder&) = delete;

  [[nodiscard]] bool done() const { return done_; }
  // How many bytes come next that are nothing but body; 0 if framing may come first. A caller that
  // reads them elsewhere says so with skip().
  [[nodiscard]] std::uint64_t plain_bytes() const { return chunks_ ? 0 : remaining_; }
  void skip(std::uint64_t count);

  struct Step {
    std::size_t consumed = 0;  // Of `in`.
    std::size_t produced = 0;  // Into `out`. Both 0 and not done(): more of `in` is needed.
  };
  // kInvalid when the framing is malformed.
  Result<Step> decode(std::string_view in, std::span<char> out);

 private:
  struct Chunks;
  std::unique_ptr<Chunks> chunks_;
  std::uint64_t remaining_ = 0;
  bool done_ = false;
};

}  // namespace glovebox::http
