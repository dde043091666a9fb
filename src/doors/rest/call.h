// SPDX-License-Identifier: Apache-2.0
// Call: one request to the REST door, with what the door has found out about it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/rest/fields.h"
#include "doors/rest/port_tokens.h"
#include "doors/rest/url.h"
#include "doors/transport/http.h"
#include "service/api/approval_desk.h"
#include "service/api/sandbox_service.h"

namespace glovebox::rest {

// The code that closes a WebSocket whose key is no longer valid (RFC 6455, 7.4.1).
inline constexpr std::uint16_t kPolicyViolation = 1008;

struct Route;

struct Call {
  http::Request& request;
  http::Response& response;
  SandboxService& service;
  const std::function<std::string(const Caller&)>& metrics;  // Empty: none.
  ApprovalDesk* approvals;                                   // Null: none.
  const PortTokens& port_tokens;
  Target target;
  std::string request_id;
  Caller caller;
  std::vector<std::string> parameters;  // What the pattern's {…} matched, in order.
  const Route* route = nullptr;         // None for a port named by the host.
  bool oversized = false;               // The body is larger than the route takes: 413.
  bool named_by_host = false;           // The host's name says which port: the path is the guest's.

  // These answer the call. An error of theirs means that the client is gone, which needs no
  // handling.
  void send(int code, std::string_view type, std::string_view body, http::Headers more = {});
  // An object, with `document` as the name in its `schema`.
  void send_json(int code, std::string_view document, const Json& json, http::Headers more = {});
  // Takes JSON text without a line break at its end, and adds one: a terminal's prompt follows it.
  void send_json_text(int code, std::string_view text, http::Headers more = {});
  void send_error(const Error& error);
  // An error of a kind that has no ErrorCode.
  void send_problem(int code,
                    std::string_view name,
                    std::string_view message,
                    std::string_view hint,
                    http::Headers more = {});
  void send_nothing();  // 204
  // The beginning of an answer in pieces.
  Result<void> start(int code, http::Headers headers);
  // An answer that takes its pieces from elsewhere.
  Result<void> follow(int code, http::Headers headers, std::unique_ptr<http::PieceSource> source);

  // The body as fields; kExhausted when it is larger than the route takes (Route::body).
  Result<Fields> fields();
  [[nodiscard]] std::string parameter(const char* name) const;  // Of the query; "" when absent.
  [[nodiscard]] bool has_parameter(const char* name) const;
  // Refuses parameters of the query beyond these.
  Result<void> only_parameters(std::initializer_list<std::string_view> names) const;
  // The value of Idempotency-Key, which must be short and printable.
  Result<std::string> idempotency_key() const;
  [[nodiscard]] bool accepts(std::string_view type) const;
  // Whether the client is gone. Any thread may ask.
  [[nodiscard]] bool has_left() const;
};

// A handler answers the call, or returns why it could not; not both.
using Handle = Result<void> (*)(Call&);

}  // namespace glovebox::rest
