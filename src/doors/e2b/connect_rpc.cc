// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/connect_rpc.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>

#include "base/text.h"
#include "doors/e2b/answers.h"

namespace glovebox::e2b {
namespace {

using std::chrono::milliseconds;

// Bytes for the input of a process come in base64.
constexpr std::size_t kMaxMessage = 32 << 20;
constexpr std::size_t kEnvelopeHead = 5;
constexpr std::string_view kUnaryType = "application/json";

constexpr std::array<std::pair<std::string_view, int>, 16> kStatuses{{
    {"canceled", 499},
    {"unknown", 500},
    {"invalid_argument", 400},
    {"deadline_exceeded", 504},
    {"not_found", 404},
    {"already_exists", 409},
    {"permission_denied", 403},
    {"resource_exhausted", 429},
    {"failed_precondition", 400},
    {"aborted", 409},
    {"out_of_range", 400},
    {"unimplemented", 501},
    {"internal", 500},
    {"unavailable", 503},
    {"data_loss", 500},
    {"unauthenticated", 401},
}};

const char* code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "failed_precondition";
    case ErrorCode::kExhausted:
      return "resource_exhausted";
    case ErrorCode::kUnsupported:
      return "unimplemented";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kRefused:
      return "permission_denied";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Json error_json(const RpcError& error) {
  return {{"code", error.code}, {"message", to_utf8(error.message)}};
}

bool has_type(const http::Request& request, std::string_view type) {
  const std::string_view given = request.header("Content-Type").value_or("");
  return given.substr(0, given.find(';')) == type;
}

std::optional<std::int64_t> number_header(const http::Request& request, std::string_view name) {
  const std::string_view text = request.header(name).value_or("");
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failure == std::errc{} && end == text.data() + text.size() && number >= 0;
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

RpcError rpc_error(const Error& error) {
  return {.code = code_of(error.code()), .message = error.message()};
}

int rpc_status(std::string_view code) {
  for (const auto& [name, status] : kStatuses) {
    if (name == code) {
      return status;
    }
  }
  return 500;
}

Result<Json> read_unary(http::Request& request) {
  if (!has_type(request, kUnaryType)) {
    return Error(ErrorCode::kUnsupported, "only application/json is supported");
  }
  return read_object(request, kMaxMessage);
}

Result<Json> read_streaming(http::Request& request) {
  if (!has_type(request, kStreamType)) {
    return Error(ErrorCode::kUnsupported, "only " + std::string(kStreamType) + " is supported");
  }
  EnvelopeReader reader(request);
  auto message = GB_TRY(reader.next());
  if (!message || GB_TRY(reader.next())) {
    return Error(ErrorCode::kInvalid, "the call takes exactly one message");
  }
  return std::move(*message);
}

Result<bool> EnvelopeReader::fill(std::string& bytes, std::size_t& have) {
  while (have < bytes.size()) {
    const std::size_t got = GB_TRY(request_.read(std::span(bytes).subspan(have)));
    if (got == 0) {
      return false;
    }
    have += got;
  }
  return true;
}

Result<std::optional<Json>> EnvelopeReader::next() {
  std::string head(kEnvelopeHead, '\0');
  std::size_t have = 0;
  if (!GB_TRY(fill(head, have))) {
    if (have == 0) {
      return std::optional<Json>();
    }
    return Error(ErrorCode::kInvalid, "the body ends in the middle of an envelope");
  }
  const auto byte = [&head](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(head[i]));
  };
  const std::uint32_t size = byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4);
  if (byte(0) != 0 || size > kMaxMessage) {
    return Error(ErrorCode::kInvalid, "an envelope is compressed, too large or malformed");
  }
  // Grows with what comes, not with what was announced.
  std::string message;
  while (message.size() < size) {
    constexpr std::size_t kStep = 256 * 1024;
    have = message.size();
    message.resize(std::min<std::size_t>(size, have + kStep));
    if (!GB_TRY(fill(message, have))) {
      return Error(ErrorCode::kInvalid, "the body ends in the middle of an envelope");
    }
  }
  return std::optional(GB_TRY(parse_object(message)));
}

void answer_unary(http::Response& response, const Json& message) {
  answer(response, 200, message.is_null() ? Json::object() : message);
}

void refuse_unary(http::Response& response, const RpcError& error) {
  answer(response, rpc_status(error.code), error_json(error));
}

std::string envelope(std::string_view message, bool last) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string bytes;
  bytes.reserve(kEnvelopeHead + message.size());
  bytes += static_cast<char>(last ? 2 : 0);
  for (const int shift : {24, 16, 8, 0}) {
    bytes += static_cast<char>(size >> shift & 0xFF);
  }
  return bytes.append(message);
}

std::string end_envelope(const std::optional<RpcError>& error) {
  return envelope(error ? to_line({{"error", error_json(*error)}}) : "{}", true);
}

void refuse_streaming(http::Response& response, const RpcError& error) {
  (void)response.send(200, {{"Content-Type", std::string(kStreamType)}}, end_envelope(error));
}

Result<std::optional<milliseconds>> call_timeout(const http::Request& request) {
  if (!request.header("Connect-Timeout-Ms")) {
    return std::optional<milliseconds>();
  }
  const auto timeout = number_header(request, "Connect-Timeout-Ms");
  // Ten digits are all that the protocol allows.
  if (!timeout || *timeout > 9'999'999'999) {
    return Error(ErrorCode::kInvalid, "malformed Connect-Timeout-Ms");
  }
  return std::optional(milliseconds(*timeout));
}

milliseconds ping_interval(const http::Request& request) {
  constexpr std::int64_t kDefault = 90;
  const auto seconds = number_header(request, "Keepalive-Ping-Interval").value_or(kDefault);
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 1, 3600));
}

http::Response& RpcStream::begun(http::Response& response) {
  (void)response.start(200, {{"Content-Type", std::string(kStreamType)}});
  return response;
}

RpcStream::RpcStream(http::Request& request, http::Response& response, const Json& keepalive)
    : answer_(request, begun(response), ping_interval(request), envelope(to_line(keepalive))) {}

}  // namespace glovebox::e2b
